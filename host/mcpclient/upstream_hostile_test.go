package mcpclient

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const oneTool = `{"tools":[{"name":"t","description":"d","inputSchema":{"type":"object"}}]}`

// listsOne has the server list a tool, and do as it is told when that is called.
func listsOne(s *rawServer, call func(id, params json.RawMessage)) {
	s.methods["tools/list"] = func(id, _ json.RawMessage) { s.result(id, oneTool) }
	s.methods["tools/call"] = call
}

// TestHostileFrames has a server send what is not an answer.
func TestHostileFrames(t *testing.T) {
	t.Parallel()
	// late runs a test in a bubble, with a context that ends when nothing happens any more.
	late := func(name string, test func(t *testing.T, soon context.Context)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				soon, stop := context.WithTimeout(t.Context(), patience/2)
				defer stop()
				test(t, soon)
			})
		})
	}
	call := tool.Call{Name: "srv.t"}
	t.Run("text", func(t *testing.T) {
		t.Parallel()
		l, w, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			s.methods["tools/list"] = func(id, _ json.RawMessage) {
				s.write("Server running on stdio\n\n{ not: 'json' }\n[debug] x\r\x1b[31m\n" + `{"level":30,"msg":"hi"}` + "\n[]\n[7]")
				s.write(fmt.Sprintf(" {\"jsonrpc\":\"2.0\",\"id\":%s,\"result\":%s} \t\r", id, oneTool))
			}
		})
		if got := l.Description().Tools; len(got) != 1 {
			t.Errorf("%v", got)
		}
		for _, want := range []string{"Server running on stdio", "{ not: 'json' }", `{"level":30,"msg":"hi"}`, "[7]"} {
			assert.Containsf(t, w.all(), "INFO "+want, "%s is not in the log", want)
		}
		w.mu.Lock()
		defer w.mu.Unlock()
		if len(w.faults) != 1 || !strings.Contains(w.faults[0], "Server running on stdio") {
			t.Errorf("what is reported is %q", w.faults)
		}
	})
	late("half", func(t *testing.T, soon context.Context) {
		l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(id, _ json.RawMessage) {
				_, _ = io.WriteString(s.conn, `{"jsonrpc":"2.0","id":`+string(id)+`,"result":{"content":[`)
			})
		})
		if _, err := l.Execute(soon, call); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
			t.Error(err)
		}
	})
	t.Run("64 MiB", func(t *testing.T) {
		t.Parallel()
		l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(json.RawMessage, json.RawMessage) {
				chunk := bytes.Repeat([]byte("x"), 1<<20)
				for range 64 {
					if _, err := s.conn.Write(chunk); err != nil {
						return
					}
				}
			})
		})
		_, err := l.Execute(within(t), call)
		if code := tool.CodeOf(err); code != tool.CodeCrashed && code != tool.CodeUnavailable {
			t.Error(err)
		}
		await(t, l.Done(), newWatched())
		if l.Err() == nil || !strings.Contains(l.Err().Error(), "more than 16 MiB") {
			t.Error(l.Err())
		}
	})
	for name, texts := range map[string][2]string{ // the ID comes first, or last, and there are others
		"long, ID first": {`{"jsonrpc":"2.0","id":%s,"result":{"id":7,"content":[{"type":"text","text":"\"id\":8,`, `"}]}}`},
		"long, ID last":  {`{"result":{"content":[{"type":"text","text":"`, `","x":{"id":9}}]}, "jsonrpc":"2.0" , "id" : %s}`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			ids := make(chan json.RawMessage, 2)
			l, _, s := mountRaw(t, upstream(t, nil), func(s *rawServer) {
				listsOne(s, func(id, _ json.RawMessage) { ids <- id })
			})
			ended := make(chan error, 2)
			begin := func() (id json.RawMessage) {
				go func() {
					_, err := l.Execute(within(t), call)
					ended <- err
				}()
				return <-ids
			}
			open, long := begin(), begin()
			for _, text := range []string{texts[0], strings.Repeat("x", 40<<20), texts[1]} {
				if strings.Contains(text, "%s") {
					text = fmt.Sprintf(text, long)
				}
				_, err := io.WriteString(s.conn, text)
				require.NoError(t, err)
			}
			_, _ = io.WriteString(s.conn, "\n")
			if err := <-ended; tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), "more than 16 MiB") {
				t.Errorf("the call with the long result ends with %v", err)
			}
			s.result(open, `{"content":[{"type":"text","text":"right"}]}`)
			if err := <-ended; err != nil || l.Err() != nil {
				t.Errorf("the other call ends with %v, the connection with %v", err, l.Err())
			}
		})
	}
	t.Run("unknown", func(t *testing.T) {
		t.Parallel()
		l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(id, _ json.RawMessage) {
				for _, other := range []string{`9999`, `"x"`, `null`, `-1`} {
					s.result(json.RawMessage(other), `{"content":[{"type":"text","text":"wrong"}]}`)
				}
				s.write(`{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":[],"progress":"x"}}`)
				s.write(`{"jsonrpc":"2.0","method":"notifications/message","params":7}`)
				s.write(`{"jsonrpc":"2.0","method":"who/knows"}`)
				s.write(`{"jsonrpc":"2.0","id":1,"method":"who/knows"}`)
				s.result(id, `{"content":[{"type":"text","text":"right"},{"type":"hologram","x":1}]}`)
			})
		})
		assert.Equal(t, execute(t, l, within(t), "srv.t", ``).Text(), "right\n"+`{"type":"hologram","x":1}`)
	})
	t.Run("nonsense", func(t *testing.T) {
		t.Parallel()
		results := []string{
			`7`, `{"content":7}`, `{"content":[7]}`, `{"content":[{"type":"image","data":"%%"}]}`, `{"content":[{}]}`,
			`{"content":[{"type":"resource"}]}`,
		}
		var n atomic.Int32
		l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(id, _ json.RawMessage) { s.result(id, results[n.Add(1)-1]) })
		})
		for _, r := range results {
			if _, err := l.Execute(within(t), call); tool.CodeOf(err) != tool.CodeInvalidResult {
				t.Errorf("%s: %v", r, err)
			}
		}
	})
	late("late", func(t *testing.T, soon context.Context) {
		ids := make(chan json.RawMessage, 2)
		canceled := make(chan struct{}, 1)
		l, _, s := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(id, _ json.RawMessage) { ids <- id })
			s.methods["notifications/cancelled"] = func(json.RawMessage, json.RawMessage) { canceled <- struct{}{} }
		})
		if _, err := l.Execute(soon, call); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
			t.Error(err)
		}
		await(t, canceled, newWatched())
		done := make(chan string, 1)
		go func() { done <- execute(t, l, within(t), "srv.t", ``).Text() }()
		first, second := <-ids, <-ids
		s.result(first, `{"content":[{"type":"text","text":"of the first"}]}`)
		s.result(second, `{"content":[{"type":"text","text":"of the second"}]}`)
		assert.Equal(t, <-done, "of the second")
	})
	late("deaf", func(t *testing.T, soon context.Context) {
		stop := make(chan struct{})
		l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(json.RawMessage, json.RawMessage) { <-stop })
		})
		errs := make(chan error, 2*maxUnread)
		for range cap(errs) { // more than are queued
			go func() {
				_, err := l.Execute(soon, call)
				errs <- err
			}()
		}
		for range cap(errs) {
			if err := await(t, errs, newWatched()); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
				t.Error(err)
			}
		}
		close(stop)
	})
	t.Run("exit", func(t *testing.T) {
		t.Parallel()
		l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
			listsOne(s, func(json.RawMessage, json.RawMessage) { _ = s.conn.Close() })
		})
		if _, err := l.Execute(within(t), call); tool.CodeOf(err) != tool.CodeCrashed {
			t.Error(err)
		}
		await(t, l.Done(), newWatched())
		if l.Err() == nil || l.u.link != nil {
			t.Error(l.Err(), l.u.link)
		}
	})
}

// over is a context that ends while a request is answered.
type over struct{ context.Context }

func (over) Err() error { return context.Canceled }

// TestListEndsLate has the time of a list be over when its page comes: it is an error, not an empty list.
func TestListEndsLate(t *testing.T) {
	t.Parallel()
	l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) { listsOne(s, func(json.RawMessage, json.RawMessage) {}) })
	if got, err := l.list(over{within(t)}); got != nil || !errors.Is(err, context.Canceled) {
		t.Errorf("%v %v", got, err)
	}
}

// TestHostileLists has a server list more than there is.
func TestHostileLists(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		page  func(n int) string
		tools int
		fault string
	}{
		"without end": {func(n int) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`, n, n)
		}, maxPages, "more than 1000 pages"},
		"large": {func(n int) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%d","description":"%s","inputSchema":{"type":"object"}}],"nextCursor":"%d"}`,
				n, strings.Repeat("x", 400<<10), n)
		}, 2, "more than 1048576 bytes"},
		"many": {func(n int) string {
			var all []string
			for i := range 6000 {
				all = append(all, fmt.Sprintf(`{"name":"t%d-%d","inputSchema":{"type":"object"}}`, n, i))
			}
			return fmt.Sprintf(`{"tools":[%s],"nextCursor":"%d"}`, strings.Join(all, ","), n)
		}, maxTools, "more than 10000 tools"},
		"cursor": {func(n int) string {
			return fmt.Sprintf(`{"tools":[{"name":"t%d","inputSchema":{"type":"object"}}],"nextCursor":"same"}`, n)
		}, 2, "the cursor of page 3 was one of an earlier page"},
		"names": {func(int) string {
			return `{"tools":[{"name":"a b"},{"name":"a b"},{"name":"a/b"},{"name":""},7,null,{"name":"c","description":5,` +
				`"title":[],"annotations":"x","inputSchema":"no"},{"name":"` + strings.Repeat("n", 500) + `"}]}`
		}, 3, `lists the tool "a b" twice`},
		"collision": {func(int) string {
			return `{"tools":[{"name":"a b"},{"name":"a/b"}]}`
		}, 1, `"a b" and "a/b" both have the name srv.a_b here`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			n := 0
			u := upstream(t, nil)
			if name == "large" {
				u.most = 1 << 20
			}
			l, w, _ := mountRaw(t, u, func(s *rawServer) {
				s.methods["tools/list"] = func(id, _ json.RawMessage) {
					n++
					s.result(id, c.page(n))
				}
			})
			tools := l.Description().Tools
			if len(tools) != c.tools {
				t.Errorf("%d tools, not %d", len(tools), c.tools)
			}
			assert.Containsf(t, w.all(), c.fault, "%q is not in", c.fault)
			for _, d := range tools {
				if d.Description == "" || len(d.Name) > ident.MaxTool || d.Safety.Effective() != tool.Dangerous {
					t.Errorf("%.300v", d)
				}
			}
		})
	}
}

// TestHostileFlood has a server say more than anyone asked for, while another is used.
func TestHostileFlood(t *testing.T) {
	t.Parallel()
	for name, line := range map[string]string{
		"lists":    `{"jsonrpc":"2.0","method":"notifications/tools/list_changed"}`,
		"progress": `{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":1,"progress":1}}`,
		"requests": `{"jsonrpc":"2.0","id":"%d","method":"sampling/createMessage","params":{"messages":[],"maxTokens":1}}`,
		"unknown":  `{"jsonrpc":"2.0","method":"notifications/x","params":{}}`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				var sent, lists atomic.Int64
				l, _, s := mountRaw(t, upstream(t, nil), func(s *rawServer) {
					s.methods["tools/list"] = func(id, _ json.RawMessage) { lists.Add(1); s.result(id, oneTool) }
				})
				other, _ := mount(t, upstream(t, nil), newBusyServer().Server)
				go func() {
					for i := 0; ; i++ {
						text := line
						if strings.Contains(line, "%d") {
							text = fmt.Sprintf(line, i)
						}
						if s.try(text) != nil {
							return
						}
						sent.Add(1)
					}
				}()
				for range 20 {
					if _, err := other.Execute(within(t), tool.Call{Name: "srv.fail"}); err != nil {
						t.Error(err)
					}
				}
				const took = 2*relistEvery + relistEvery/2
				time.Sleep(took)
				synctest.Wait()
				most := int64(messagesBurst + messagesRate*took.Seconds())
				if name == "requests" {
					most /= requestCost
				}
				// One is read before it waits, and another is on its way.
				if n := sent.Load(); n < most || n > most+2 {
					t.Errorf("%d messages were read in %v, not %d", n, took, most)
				}
				asked := int64(1) // when it connects
				if name == "lists" {
					asked += 1 + int64(took/relistEvery)
				}
				if n := lists.Load(); n != asked {
					t.Errorf("%d lists in %v, not %d", n, took, asked)
				}
				_ = l.Close(within(t))
			})
		})
	}
}

// TestLegacy proves that a program that ends at an unknown request is asked as the older
// revisions have it the next time, and that one that does not answer is asked that way soon.
func TestLegacy(t *testing.T) {
	t.Parallel()
	u := upstream(t, nil)
	ours, theirs := net.Pipe()
	s := newRawServer(theirs)
	s.methods["server/discover"] = func(json.RawMessage, json.RawMessage) { _ = theirs.Close() }
	go s.run()
	if _, err := u.Connect(within(t), ours, newWatched().events()); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Fatal(err)
	}
	l, _, _ := mountRaw(t, u, func(s *rawServer) {
		listsOne(s, nil)
		s.methods["server/discover"] = func(json.RawMessage, json.RawMessage) { _ = s.conn.Close() }
	})
	if got := l.Description(); len(got.Tools) != 1 || got.SDK != "mcp/2025-11-25" {
		t.Errorf("%+v", got)
	}
}

// TestConnectEnds proves that a server that hangs holds up its own start only, as long as the
// context lets it.
func TestConnectEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		ours, theirs := net.Pipe()
		go func() { _, _ = io.Copy(io.Discard, theirs) }()
		const limit = 5 * time.Second
		ctx, stop := context.WithTimeout(t.Context(), limit)
		defer stop()
		began := time.Now()
		_, err := upstream(t, nil).Connect(ctx, ours, newWatched().events())
		if took := time.Since(began); !errors.Is(err, context.DeadlineExceeded) || took != limit {
			t.Errorf("after %v: %v", took, err)
		}
		if _, err := ours.Write(nil); !errors.Is(err, io.ErrClosedPipe) {
			t.Errorf("the process's pipes are still open: %v", err)
		}
	})
}

// TestNoLeak proves that connections leave no goroutines behind, however they end.
func TestNoLeak(t *testing.T) { //nolint:paralleltest // it counts goroutines
	stacks := func() int {
		buf := make([]byte, 8<<20)
		return strings.Count(string(buf[:runtime.Stack(buf, true)]), "mcpclient.(*link)") +
			strings.Count(string(buf[:runtime.Stack(buf, true)]), "mcpclient.(*pipeConn)")
	}
	before := stacks()
	for i := range 10 {
		ours, theirs := net.Pipe()
		s := newRawServer(theirs)
		listsOne(s, nil)
		go s.run()
		conn := require.Must(upstream(t, nil).Connect(within(t), ours, newWatched().events()))(t)
		ctx, stop := context.WithTimeout(within(t), time.Millisecond)
		_, _ = conn.Execute(ctx, tool.Call{Name: "srv.t"})
		stop()
		if i%2 == 0 {
			_ = theirs.Close()
			<-conn.Done()
		}
		_ = conn.Close(within(t))
		_ = theirs.Close()
	}
	h := mcp.NewStreamableHTTPHandler(func(*http.Request) *mcp.Server { return newBusyServer().Server }, nil)
	l, _, web := onHTTPServer(t, h, func(c *Config) { c.Version = lastWithSessions })
	_ = l.Close(within(t))
	web.CloseClientConnections()
	require.Eventually(t, "no goroutine is left", func() bool { return stacks() <= before })
}

// TestPatterns proves that a name of a tool is not a path: a slash in it is a character as others are.
func TestPatterns(t *testing.T) {
	t.Parallel()
	u := upstream(t, func(c *Config) {
		c.Include, c.Exclude = []string{"repo*", "a?b"}, []string{"*delete*", "repo/[st]*"}
	})
	for name, want := range map[string]bool{
		"repo_read": true, "repo/read": true, "repo/a/b": true, "a/b": true, "repo/delete/all": false, "repo/secrets": false,
		"read": false, "a/b/c": false,
	} {
		assert.Equalf(t, u.chosen(name), want, "%s", name)
	}
}

// TestChoice proves that the operator chooses tools, and that only accepted ones are less than
// dangerous.
func TestChoice(t *testing.T) {
	t.Parallel()
	const list = `{"tools":[{"name":"read_a","annotations":{"readOnlyHint":true,"title":"Reads"},"inputSchema":{"type":"object"}},` +
		`{"name":"read_b","annotations":{"readOnlyHint":true},"description":"one\r\ntwo","title":"B"},{"name":"write"},` +
		`{"name":"read_secret"}]}`
	u := upstream(t, func(c *Config) {
		c.Include, c.Exclude = []string{"read_*"}, []string{"*secret"}
		c.Safety = func(name string) tool.Safety {
			if name == "read_a" {
				return tool.Safe
			}
			return tool.Unset
		}
	})
	l, _, _ := mountRaw(t, u, func(s *rawServer) {
		s.methods["tools/list"] = func(id, _ json.RawMessage) { s.result(id, list) }
	})
	got := require.Must(json.Marshal(l.Description().Tools))(t)
	const want = `[{"name":"srv.read_a","title":"Reads","description":"The tool read_a of the MCP server srv, which does not` +
		` describe it.","input_schema":{"type":"object"},"safety":"safe","idempotent":true,` +
		`"meta":{"toolhost/annotations":{"idempotentHint":false,"readOnlyHint":true,"title":"Reads"}}},` +
		`{"name":"srv.read_b","title":"B","description":"one\ntwo","meta":{"toolhost/annotations":{"idempotentHint":false,"readOnlyHint":true}}}]`
	assert.Equalf(t, string(got), want, "%s", got)
}
