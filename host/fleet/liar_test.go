package fleet_test

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// offered is what a host says of a tool.
type offered struct {
	Name   string `json:"name"`
	Digest string `json:"digest"`
	text   json.RawMessage
}

// offer returns an honest one.
func offer(name string) offered {
	text, err := json.Marshal(tool.Definition{Name: name, Description: "A tool of a liar.", Safety: tool.Safe})
	if err != nil {
		panic(err)
	}
	return offeredAs(name, text)
}

func offeredAs(name string, text []byte) offered {
	sum := sha256.Sum256(text)
	return offered{name, hex.EncodeToString(sum[:]), text}
}

// offer returns what a host says of its tool.
func (n *node) offer(t *testing.T, name string) offered {
	t.Helper()
	honest, _ := n.Get(name)
	return offeredAs(name, require.Must(json.Marshal(honest.Definition))(t))
}

// answer answers a call.
type answer func(context.Context, tool.Call) (tool.Result, error)

// liar is a known host that offers what it likes. Operations in place are answered in place of it.
type liar struct {
	offers []offered
	place  map[string]answer
	asked  atomic.Int64 // for definitions
}

func (l *liar) run(ctx context.Context, call tool.Call) (tool.Result, error) {
	if call.Name == "fleet:definitions" {
		l.asked.Add(1)
	}
	if f := l.place[call.Name]; f != nil {
		return f(ctx, call)
	}
	var out any
	switch call.Name {
	case "fleet:index":
		out = map[string]any{"revision": 1, "tools": l.offers}
	case "fleet:definitions":
		defs := map[string]json.RawMessage{}
		for _, o := range l.offers {
			defs[o.Digest] = o.text
		}
		out = map[string]any{"definitions": defs}
	default:
		return tool.Text("of the liar"), nil
	}
	text, err := json.Marshal(out)
	return tool.Result{Structured: text}, err
}

// structured answers with a text that does not change.
func structured(text []byte) answer {
	return func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{Structured: text}, nil }
}

// liarSite has an honest host b, and a, which mounts the tools of both.
func liarSite(t *testing.T, change ...func(*fleet.Config)) (s *site, a *node, lie func(*liar, ...map[string]any) *raw) {
	t.Helper()
	key := newKey(t)
	s = siteOf(t, newKey(t), key)
	join(t, s.config("b", share("*")), says("who", "b"))
	a = join(t, s.config("a", append(change, mount("*"), func(c *fleet.Config) {
		c.Peers = map[string]fleet.Peer{"liar": {Key: key.Public(), Mount: []string{"lie.*"}}}
	})...))
	a.text(t, "who")
	return s, a, func(l *liar, says ...map[string]any) *raw {
		r := s.newRaw(t, key, append(says, nil)[0], l.run)
		ctx, cancel := context.WithCancel(context.Background())
		done := make(chan struct{})
		go func() { // it is announced as an honest host is
			defer close(done)
			tick := time.NewTicker(time.Second / 2)
			defer tick.Stop()
			for {
				select {
				case <-tick.C:
					_ = r.nc.Publish("toolhost.v1.hello."+r.key.Public(), r.announcement())
				case <-ctx.Done():
					return
				}
			}
		}()
		t.Cleanup(func() { cancel(); <-done })
		return r
	}
}

// undisturbed calls the tool of the honest host until done is closed, or 20 times, and bounds the slowest call.
func (n *node) undisturbed(t *testing.T, done <-chan struct{}) {
	t.Helper()
	const ceiling = 20 * 300 * time.Millisecond // one that computes for it has a turn, of 0.3 s on a busy machine
	slowest, calls := time.Duration(0), 0
	for ; ; calls++ {
		select {
		case <-done:
			done = nil
		default:
		}
		if done == nil && calls >= 20 {
			break
		}
		begin := time.Now()
		if res, err := n.Execute(t.Context(), tool.Call{Name: "who"}); err != nil || res.Text() != "b" {
			t.Fatalf("%q %v", res.Text(), err)
		}
		slowest = max(slowest, time.Since(begin))
	}
	if slowest > ceiling {
		t.Errorf("a call of the honest host took %v", slowest)
	}
	t.Logf("%d calls of the honest host, the slowest %v", calls, slowest)
}

// A known host that lies about its definitions loses them, and not what is true of it. The tools of others stay.
func TestLiesAboutDefinitions(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		lie   func(*liar)
		takes bool // its other tool is mounted
	}{
		"another digest": {func(l *liar) {
			o := offer("lie.other")
			o.text = bytes.Replace(o.text, []byte("A tool"), []byte("Another tool"), 1)
			l.offers = append(l.offers, o)
		}, true},
		"another name": {func(l *liar) {
			o := offer("lie.other")
			o.Name = "lie.name"
			l.offers = append(l.offers, o)
		}, true},
		"outside of its patterns": {func(l *liar) { l.offers = append(l.offers, offer("who"), offer("fs.read")) }, true},
		"a tool of this host":     {func(l *liar) { l.offers = append(l.offers, offer("lie.own")) }, true},
		"a name that no tool can have": {func(l *liar) {
			l.offers = append(l.offers, offer("lie.\x1b[2J"), offer("lie."+strings.Repeat("x", 1000)))
		}, true},
		"not a definition": {func(l *liar) {
			l.offers = append(l.offers, offeredAs("lie.other", []byte(`{"name":"lie.other","description":["?"]}`)))
		}, true},
		"a schema of 16 MiB": {func(l *liar) {
			text := `{"name":"lie.other","description":"x","input_schema":{"type":"object","description":"` + strings.Repeat("x", 16<<20) + `"}}`
			l.offers = append(l.offers, offeredAs("lie.other", []byte(text)))
		}, true},
		"20,001 tools": {func(l *liar) {
			for i := range 20_000 {
				l.offers = append(l.offers, offered{fmt.Sprint("lie.", i), l.offers[0].Digest, nil})
			}
		}, false},
		"an index that is none": {func(l *liar) {
			l.place["fleet:index"] = structured([]byte(`[1,2]`))
		}, false},
		"no index": {func(l *liar) {
			l.place["fleet:index"] = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				<-ctx.Done()
				return tool.Result{}, ctx.Err()
			}
		}, false},
		"definitions without end": {func(l *liar) {
			for i := range 19_000 {
				l.offers = append(l.offers, offer(fmt.Sprint("lie.", i)))
			}
			var next atomic.Int64
			l.place["fleet:definitions"] = func(context.Context, tool.Call) (tool.Result, error) { // one of them at a time
				o := l.offers[int(next.Add(1))%len(l.offers)]
				text, err := json.Marshal(map[string]any{"definitions": map[string]json.RawMessage{o.Digest: o.text}})
				return tool.Result{Structured: text}, err
			}
		}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, a, lie := liarSite(t)
			require.NoError(t, a.Register(says("lie.own", "mine")))
			l := &liar{offers: []offered{offer("lie.true")}, place: map[string]answer{}}
			c.lie(l)
			lie(l)
			require.Eventually(t, "the liar", func() bool { return a.state("raw") != "" })
			if c.takes {
				require.Eventually(t, "its tool", func() bool { return a.has("lie.true") })
			}
			a.undisturbed(t, nil)
			allowed := map[string]bool{"who": true, "lie.own": true, "lie.true": c.takes}
			for _, one := range a.Tools(host.Filter{}) {
				if !allowed[one.Name] {
					t.Errorf("%q is mounted", one.Name)
				}
			}
			assert.Equal(t, a.text(t, "lie.own"), "mine")
			if c.takes {
				assert.Equal(t, a.text(t, "lie.true"), "of the liar")
			}
		})
	}
}

// What a host says of its tools costs memory in proportion to its bytes, and not to what could be made of
// them.
func TestLiesAreBounded(t *testing.T) { //nolint:paralleltest // it counts what is allocated
	const size = 8 << 20
	for operation, c := range map[string]struct{ begin, repeated, end string }{
		"fleet:index":       {`{"revision":1,"tools":[{}`, `,{}`, `]}`},
		"fleet:definitions": {`{"definitions":{"":0`, `,"":0`, `}}`},
	} {
		read := make(signal, 1)
		_, a, lie := liarSite(t, func(c *fleet.Config) {
			c.Log = hclog.New(&hclog.LoggerOptions{Level: hclog.Debug, Output: read})
		})
		text := []byte(c.begin + strings.Repeat(c.repeated, (size-100)/len(c.repeated)) + c.end)
		l := &liar{offers: []offered{offer("lie.true")}, place: map[string]answer{
			operation: structured(text),
		}}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		r := lie(l)
		select {
		case <-read:
		case <-time.After(require.Ceiling):
			t.Fatalf("%s: no bound was noticed", operation)
		}
		runtime.ReadMemStats(&after)
		r.nc.Close()
		const most = 12 * size // copies on both sides, and in the server
		if got := after.TotalAlloc - before.TotalAlloc; got > most {
			t.Errorf("%s: %d MiB were allocated for an answer of %d MiB", operation, got>>20, size>>20)
		} else {
			t.Logf("%s: %d MiB", operation, got>>20)
		}
		a.undisturbed(t, nil)
	}
}

// signal is a log that tells when what a host shares could not be read.
type signal chan struct{}

func (s signal) Write(line []byte) (int, error) {
	if bytes.Contains(line, []byte("could not be read")) {
		select {
		case s <- struct{}{}:
		default:
		}
	}
	return len(line), nil
}

// The calls of a hostile host's tools end typed, whatever it answers, and others' calls go on meanwhile.
func TestLiesInCalls(t *testing.T) {
	t.Parallel()
	stuck := make(chan struct{})
	for name, c := range map[string]struct {
		run   answer
		codes []tool.Code
	}{
		"a result of 65 MiB": {
			func(context.Context, tool.Call) (tool.Result, error) {
				return tool.Text(strings.Repeat("x", 65<<20)), nil
			},
			[]tool.Code{tool.CodeResourceExhausted, tool.CodeInvalidResult},
		},
		"no answer": {
			func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				<-stuck // and it does not stop when it is told to
				return tool.Result{}, ctx.Err()
			},
			[]tool.Code{tool.CodeDeadlineExceeded},
		},
		"progress without end": {
			func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				report := callctx.Get[func(tool.Progress)](ctx, callctx.Progress{})
				for i := 0; ctx.Err() == nil; i++ {
					report(tool.Progress{Done: float64(i), Message: strings.Repeat("x", 1000)})
				}
				return tool.Result{}, ctx.Err()
			},
			[]tool.Code{tool.CodeDeadlineExceeded},
		},
		"an error that is none": {
			structuredMeta(`{"toolhost.fleet/answer":{"error":{"code":"never heard of","message":"` + strings.Repeat("\\u001b", 10_000) + `"}}}`),
			[]tool.Code{tool.CodeToolFailed},
		},
		"a denial of what was never asked": {
			structuredMeta(`{"toolhost.fleet/answer":{"error":{"code":"permission_denied","stage":"approve","message":"no"}}}`),
			[]tool.Code{tool.CodePermissionDenied},
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, a, lie := liarSite(t)
			l := &liar{offers: []offered{offer("lie.true")}, place: map[string]answer{"lie.true": c.run}}
			lie(l)
			if name == "no answer" {
				t.Cleanup(func() { close(stuck) })
			}
			require.Eventually(t, "its tool", func() bool { return a.has("lie.true") })
			ctx, cancel := context.WithTimeout(t.Context(), time.Second)
			if !slices.Contains(c.codes, tool.CodeDeadlineExceeded) {
				ctx = t.Context()
			}
			defer cancel()
			done := make(chan struct{})
			var err error
			go func() {
				defer close(done)
				_, _, err = a.Session().CallWith(ctx, tool.Call{Name: "lie.true"}, host.CallOptions{Progress: func(tool.Progress) {}})
			}()
			a.undisturbed(t, done)
			<-done
			if err == nil || !slices.Contains(c.codes, tool.CodeOf(err)) || strings.Contains(err.Error(), "\x1b") || len(err.Error()) > 16<<10 {
				t.Errorf("%.300v", err)
			}
		})
	}
}

func structuredMeta(meta string) answer {
	return func(context.Context, tool.Call) (tool.Result, error) {
		return tool.Result{IsError: true, Meta: json.RawMessage(meta)}, nil
	}
}

// What a host says of its load attracts no calls: one that fails them all is left alone, however idle it says it is.
func TestLiesAboutLoad(t *testing.T) {
	t.Parallel()
	for name, load := range map[string]map[string]int{
		"idle":      {"running": 0, "slots": 1 << 62},
		"overflows": {"running": 1 << 62, "waiting": 1 << 62, "slots": 1 << 62},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, a, lie := liarSite(t)
			same := join(t, s.config("c", share("*")), says("lie.true", "c")).offer(t, "lie.true")
			var lied atomic.Int64
			lie(&liar{offers: []offered{same}, place: map[string]answer{"lie.true": func(context.Context, tool.Call) (tool.Result, error) {
				lied.Add(1)
				return tool.Result{}, tool.Errorf(tool.CodeToolFailed, "it fails")
			}}}, map[string]any{"load": load})
			a.shared(t, "lie.true", 1, 2)
			const calls = 300
			for range calls {
				_, _ = a.Execute(t.Context(), tool.Call{Name: "lie.true"})
			}
			if n := lied.Load(); n > calls/10 {
				t.Errorf("the liar had %d of %d calls", n, calls)
			}
		})
	}
}

// A host that says of each call that it was not sent, for whatever reason and for ever, keeps calls neither from an honest
// replica nor from their end.
func TestLiesNotSent(t *testing.T) {
	t.Parallel()
	for _, why := range []string{
		`"unavailable"`, `"crashed"`, `"not_found"`, `"permission_denied"`, `"approval_required"`, `"rate_limited"`,
		`"resource_exhausted"`, `"resource_exhausted","stage":"limit"`,
	} {
		t.Run(why, func(t *testing.T) {
			t.Parallel()
			s, a, lie := liarSite(t)
			b := join(t, s.config("c", share("*")), says("lie.true", "c"))
			same := b.offer(t, "lie.true")
			var lied atomic.Int64
			refuse := structuredMeta(`{"toolhost.fleet/answer":{"error":{"unsent":true,"retry_after":"9999h","message":"no","code":` + why + `}}}`)
			lie(&liar{offers: []offered{same}, place: map[string]answer{"lie.true": func(ctx context.Context, call tool.Call) (tool.Result, error) {
				lied.Add(1)
				return refuse(ctx, call)
			}}})
			a.shared(t, "lie.true", 1, 2)
			const calls = 100
			for range calls {
				if res, err := a.Execute(t.Context(), tool.Call{Name: "lie.true"}); err != nil || res.Text() != "c" {
					t.Fatalf("%q %v", res.Text(), err)
				}
			}
			if n := lied.Load(); n > calls/10 {
				t.Errorf("the liar had %d of %d calls", n, calls)
			}
			require.NoError(t, b.Fleet.Close(t.Context()))
			a.shared(t, "lie.true", 1, 1)
			ctx, cancel := context.WithTimeout(t.Context(), 2*time.Second)
			defer cancel()
			lied.Store(0)
			if _, err := a.Execute(ctx, tool.Call{Name: "lie.true"}); tool.CodeOf(err) == "" || lied.Load() > 5 {
				t.Errorf("%v, after %d attempts", err, lied.Load())
			}
		})
	}
}

// A host that is back has its tools back without saying their definitions again.
func TestDefinitionsOfHostThatIsBack(t *testing.T) {
	t.Parallel()
	_, a, lie := liarSite(t)
	l := &liar{offers: []offered{offer("lie.true")}}
	first := lie(l)
	require.Eventually(t, "its tool", func() bool { return a.has("lie.true") })
	first.nc.Close()
	require.Eventually(t, "it is gone", func() bool { return !a.has("lie.true") })
	lie(l)
	require.Eventually(t, "its tool again", func() bool { return a.has("lie.true") })
	assert.Equal(t, l.asked.Load(), int64(1))
}
