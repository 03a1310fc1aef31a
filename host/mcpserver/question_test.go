package mcpserver_test

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"errors"
	"fmt"
	"net/http/httptest"
	"slices"
	"strings"
	"sync"
	"testing"
	"testing/synctest"
	"time"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ledger keeps what is recorded.
type ledger struct {
	mu  sync.Mutex
	all []audit.Record
}

func (l *ledger) Write(r audit.Record) error {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(l.all, r)
	return nil
}

func (l *ledger) last() audit.Record {
	l.mu.Lock()
	defer l.mu.Unlock()
	if len(l.all) == 0 {
		return audit.Record{}
	}
	return l.all[len(l.all)-1]
}

// dangerous is a tool that needs approval, and has a preview.
func dangerous(name string, ran chan<- string) tool.Tool {
	t := echo(name, func(d *tool.Definition) { d.Safety = tool.Dangerous })
	run := t.Handler
	t.Handler = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		ran <- string(c.Arguments)
		return run(ctx, c)
	}
	t.Preview = func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("-old\n+new\x1b[2J"), nil }
	return t
}

// answers is a client that answers questions with an action.
func answers(action string, seen chan<- *mcp.ElicitParams) *mcp.ClientOptions {
	return &mcp.ClientOptions{ElicitationHandler: func(_ context.Context, r *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
		seen <- r.Params
		return &mcp.ElicitResult{Action: action, Content: map[string]any{}}, nil
	}}
}

func TestClientApproves(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		for action, want := range map[string]string{
			"accept": `t.rm:{"f":"x"}`, "decline": "Approval denied for tool: t_rm: it was declined",
			"cancel": "Approval denied for tool: t_rm: the question was not answered",
		} {
			ran, seen, record := make(chan string, 1), make(chan *mcp.ElicitParams, 1), &ledger{}
			h := newHost(t, host.WithAudit(record))
			require.NoError(t, h.Register(dangerous("t.rm", ran)))
			s := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover()))
			res := call(t, w.connect(t, s, answers(action, seen)), "t_rm", `{"f":"x"}`)
			if got := text(res); !strings.HasPrefix(got, want) || res.IsError == (action == "accept") {
				t.Errorf("%s: %q", action, got)
			}
			if len(ran) == 1 != (action == "accept") {
				t.Errorf("%s: it ran %d times", action, len(ran))
			}
			asked := (<-seen).Message
			for _, want := range []string{"Allow t.rm to run?", `"f": "x"`, "-old\n+new\\x1b[2J"} {
				assert.Containsf(t, asked, want, "the question has no %q", want)
			}
			if got := record.last(); got.Approver != "client tester" {
				t.Errorf("the record says that %q decided", got.Approver)
			}
		}
	})
}

// What of the arguments a client is not shown is said before them, and hides none of the others.
func TestClientSeesEachArgument(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		ran, seen := make(chan string, 1), make(chan *mcp.ElicitParams, 1)
		h := newHost(t)
		require.NoError(t, h.Register(dangerous("t.rm", ran)))
		s := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover()))
		call(t, w.connect(t, s, answers("decline", seen)), "t_rm", `{"f":"`+strings.Repeat("x", 9000)+`","recursive":true}`)
		asked := (<-seen).Message
		if !strings.HasPrefix(asked, "Allow t.rm to run?\n\n4910 bytes of arguments are not shown, of: f\n\nArguments:\n{\n  \"f\": \"xxx") ||
			!strings.Contains(asked, "x…,\n  \"recursive\": true\n}") {
			t.Errorf("the question is %q", asked)
		}
	})
}

func TestClientThatCannotAsk(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		ran := make(chan string, 1)
		h := newHost(t)
		require.NoError(t, h.Register(dangerous("t.rm", ran)))
		s := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover()))
		res := call(t, w.connect(t, s, nil), "t_rm", `{}`)
		if got := text(res); !res.IsError || !strings.Contains(got, "the client tester shows no questions") ||
			!strings.HasSuffix(got, "[approval_required]") || len(ran) > 0 {
			t.Errorf("refusal: %q", got)
		}
	})
}

func TestToolAsks(t *testing.T) {
	t.Parallel()
	everyWay(t, func(t *testing.T, w way) {
		h := newHost(t)
		asks := echo("t.ask")
		asks.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			var out []string
			for i := range 3 {
				a, err := tool.Ask(ctx, tool.Question{
					Message: fmt.Sprint("number ", i), Schema: json.RawMessage(`{"type":"object","properties":{"n":{"type":"integer"}},"required":["n"]}`),
				})
				if err != nil {
					return tool.Result{}, err
				}
				out = append(out, string(a.Action)+string(a.Content))
			}
			return tool.Text(strings.Join(out, " ")), nil
		}
		require.NoError(t, h.Register(asks))
		n := 0
		c := w.connect(t, serve(t, h, mcpserver.Options{}), &mcp.ClientOptions{
			ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				if n++; n == 2 {
					return &mcp.ElicitResult{Action: "decline"}, nil
				}
				return &mcp.ElicitResult{Action: "accept", Content: map[string]any{"n": n}}, nil
			},
		})
		assert.Equalf(t, text(call(t, c, "t_ask", `{}`)), `accept{"n":1} decline accept{"n":3}`, "the tool was answered")
		deaf := w.connect(t, serve(t, h, mcpserver.Options{}), nil)
		if got := text(call(t, deaf, "t_ask", `{}`)); !strings.HasSuffix(got, "[unsupported]") {
			t.Errorf("a client that shows no questions: %q", got)
		}
	})
}

// manual is a client of the stateless revision that answers no questions by itself.
func manual(t *testing.T, s *mcpserver.Server, w way) *mcp.ClientSession {
	t.Helper()
	o := answers("accept", nil)
	o.MultiRoundTrip = &mcp.MultiRoundTripOptions{Disabled: true}
	return w.connect(t, s, o)
}

func yes(id string) mcp.InputResponseMap {
	return mcp.InputResponseMap{id: &mcp.ElicitResult{Action: "accept", Content: map[string]any{}}}
}

func TestStatesOfParkedCalls(t *testing.T) {
	t.Parallel()
	for _, w := range ways {
		if w.version != "2026-07-28" {
			continue
		}
		t.Run(w.name, func(t *testing.T) {
			t.Parallel()
			ran := make(chan string, 8)
			h := newHost(t)
			require.NoError(t, h.Register(dangerous("t.rm", ran)))
			ctx := context.Background()
			s := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover()))
			c := manual(t, s, w)
			ask := func(args string) *mcp.CallToolResult {
				t.Helper()
				res := call(t, c, "t_rm", args)
				if !res.NeedsInput() || len(res.InputRequests) != 1 || len(res.RequestState) < 100 {
					t.Fatalf("not a question: %+v", res)
				}
				return res
			}
			again := func(args, state string) error {
				t.Helper()
				_, err := c.CallTool(ctx, &mcp.CallToolParams{
					Name: "t_rm", Arguments: json.RawMessage(args), RequestState: state, InputResponses: yes("q1"),
				})
				return err
			}
			wantNone := func(what string, err error) {
				t.Helper()
				wantCode(t, err, jsonrpc.CodeInvalidParams)
				select {
				case args := <-ran:
					t.Errorf("%s: the tool ran with %s", what, args)
				default:
				}
			}

			early, err := c.CallTool(ctx, &mcp.CallToolParams{Name: "t_rm", Arguments: map[string]any{}, InputResponses: yes("q1")})
			if err != nil || !early.NeedsInput() || len(ran) > 0 {
				t.Errorf("an answer before the question: %+v, %v", early, err)
			}

			state := ask(`{"n":1,"m":2}`).RequestState
			if err := again(`{ "m": 2, "n": 1 }`, state); err != nil || <-ran != `{"n":1,"m":2}` {
				t.Errorf("the answer: %v", err)
			}
			wantNone("replayed", again(`{"n":1,"m":2}`, state))

			state = ask(`{"n":1}`).RequestState
			wantNone("other arguments", again(`{"n":2}`, state))
			wantNone("after a forgery", again(`{"n":1}`, state))

			state = ask(`{"n":1}`).RequestState
			b := require.Must(base64.RawURLEncoding.DecodeString(state))(t)
			b[30] ^= 1
			wantNone("altered", again(`{"n":1}`, base64.RawURLEncoding.EncodeToString(b)))
			wantNone("malformed", again(`{"n":1}`, "AAAA"))

			first, second := ask(`{"n":1}`), ask(`{"n":2}`)
			wantNone("of another call", again(`{"n":2}`, first.RequestState))
			if err := again(`{"n":2}`, second.RequestState); err != nil || <-ran != `{"n":2}` {
				t.Errorf("the other call: %v", err)
			}

			other := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover()))
			state = ask(`{"n":1}`).RequestState
			_, err = manual(t, other, w).CallTool(ctx, &mcp.CallToolParams{
				Name: "t_rm", Arguments: json.RawMessage(`{"n":1}`), RequestState: state, InputResponses: yes("q1"),
			})
			wantNone("of another server", err)
		})
	}
}

// A state is good for its caller only, and a stolen one denies the call.
func TestStateOfAnotherCaller(t *testing.T) {
	t.Parallel()
	ran, record := make(chan string, 1), &ledger{}
	h := newHost(t, host.WithAudit(record))
	require.NoError(t, h.Register(dangerous("t.rm", ran)))
	s := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover()))
	front := httptest.NewServer(authenticated(s.Handler()))
	t.Cleanup(front.Close)
	params := `,"name":"t_rm","arguments":{},"inputResponses":{"q1":{"action":"accept"}}`
	can := strings.NewReplacer(`"io.modelcontextprotocol/clientCapabilities":{}`, `"io.modelcontextprotocol/clientCapabilities":{"elicitation":{}}`)
	_, body := rawWith(t, front.URL, "tools/call", "t_rm", params, map[string]string{"Authorization": "Bearer ann"}, can)
	var asked struct{ Result struct{ RequestState string } }
	_, event, _ := strings.Cut(body, "data: ")
	if err := json.Unmarshal([]byte(event), &asked); err != nil || asked.Result.RequestState == "" {
		t.Fatalf("not a question: %s", body)
	}
	params += `,"requestState":"` + asked.Result.RequestState + `"`
	if _, body = rawWith(t, front.URL, "tools/call", "t_rm", params, map[string]string{"Authorization": "Bearer ben"}, can); !strings.Contains(body, "-32602") {
		t.Errorf("another caller's answer: %s", body)
	}
	if _, body = rawWith(t, front.URL, "tools/call", "t_rm", params, map[string]string{"Authorization": "Bearer ann"}, can); !strings.Contains(body, "-32602") {
		t.Errorf("the answer after the theft: %s", body)
	}
	require.Eventually(t, "the end is recorded", func() bool { return record.last().Event == audit.End })
	if len(ran) > 0 || record.last().Decision != audit.Denied {
		t.Errorf("it ran %d times, and the record says %+v", len(ran), record.last())
	}
}

// A question that is not answered in time denies the call.
func TestUnansweredQuestions(t *testing.T) {
	t.Parallel()
	everyWayInTime(t, func(t *testing.T, w way) {
		ran, record := make(chan string, 8), &ledger{}
		h := newHost(t, host.WithAudit(record))
		require.NoError(t, h.Register(dangerous("t.rm", ran)))
		const patience = 5 * time.Minute // of a server, by default
		s, began := serve(t, h, mcpserver.Options{}, host.WithApprover(mcpserver.ClientApprover())), time.Now()
		if w.version != "2026-07-28" {
			over := make(chan struct{})
			c := w.connect(t, s, &mcp.ClientOptions{ElicitationHandler: func(context.Context, *mcp.ElicitRequest) (*mcp.ElicitResult, error) {
				<-over
				return nil, errors.New("too late")
			}})
			defer close(over)
			res, err := c.CallTool(t.Context(), &mcp.CallToolParams{Name: "t_rm", Arguments: json.RawMessage(`{}`)})
			if err != nil || !strings.Contains(text(res), "not answered") || time.Since(began) != patience {
				t.Errorf("after %v the client was told %+v, %v", time.Since(began), res, err)
			}
			return
		}
		c := manual(t, s, w)
		state := call(t, c, "t_rm", `{}`).RequestState
		time.Sleep(patience - 1)
		synctest.Wait()
		if got := record.last(); got.Event == audit.End {
			t.Errorf("before its time was over, the record says %+v", got)
		}
		time.Sleep(1 * time.Nanosecond)
		synctest.Wait()
		if got := record.last(); got.Event != audit.End || got.Decision != audit.Denied || got.Approver != "client tester" {
			t.Errorf("the record says %+v", got)
		}
		_, err := c.CallTool(t.Context(), &mcp.CallToolParams{
			Name: "t_rm", Arguments: json.RawMessage(`{}`), RequestState: state, InputResponses: yes("q1"),
		})
		wantCode(t, err, jsonrpc.CodeInvalidParams)
		if len(ran) > 0 {
			t.Error("the tool ran")
		}
	})
}

func TestCallsThatWaitAreBounded(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(dangerous("t.rm", make(chan string, 8))))
	s := serve(t, h, mcpserver.Options{MaxQuestions: 2}, host.WithApprover(mcpserver.ClientApprover()))
	c := manual(t, s, ways[0])
	for range 2 {
		if res := call(t, c, "t_rm", `{}`); !res.NeedsInput() {
			t.Fatalf("not a question: %+v", res)
		}
	}
	assert.Containsf(t, text(call(t, c, "t_rm", `{}`)), "2 calls wait for an answer of the client", "the third call")
}

// A call that ends while it is parked, without its answer, keeps its result for the client: once.
func TestEndsWhileParked(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		w := ways[0]
		w.memory = true
		end := make(chan struct{})
		record := &ledger{}
		h := newHost(t, host.WithAudit(record))
		careless := echo("t.careless")
		careless.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			go func() {
				_, _ = tool.Ask(ctx, tool.Question{Message: "Why?", Schema: json.RawMessage(`{"type":"object"}`)})
			}()
			<-end
			return tool.Text("done without"), nil
		}
		require.NoError(t, h.Register(careless))
		c := manual(t, serve(t, h, mcpserver.Options{}), w)
		asked := call(t, c, "t_careless", `{}`)
		if !asked.NeedsInput() {
			t.Fatalf("not a question: %+v", asked)
		}
		close(end)
		synctest.Wait()
		record.mu.Lock() // the question, which no one answered, may be on record after the end
		if !slices.ContainsFunc(record.all, func(r audit.Record) bool { return r.Event == audit.End }) {
			t.Errorf("the record says %+v", record.all)
		}
		record.mu.Unlock()
		again := &mcp.CallToolParams{
			Name: "t_careless", Arguments: json.RawMessage(`{}`), RequestState: asked.RequestState, InputResponses: yes("q1"),
		}
		if res, err := c.CallTool(context.Background(), again); err != nil || text(res) != "done without" {
			t.Errorf("the client returned: %+v, %v", res, err)
		}
		_, err := c.CallTool(context.Background(), again)
		wantCode(t, err, jsonrpc.CodeInvalidParams)
	})
}
