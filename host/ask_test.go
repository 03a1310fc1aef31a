package host_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// asking is a tool that asks with its argument's schema, if it has one, and answers with what
// it got.
func asking(name string) tool.Tool {
	t := echo(name)
	t.Handler = func(ctx context.Context, c tool.Call) (tool.Result, error) {
		a, err := tool.Ask(ctx, tool.Question{Message: "Which\u202e one?", Schema: []byte(whichOne)})
		if err != nil {
			return tool.Result{}, err
		}
		return tool.Text(fmt.Sprintf("%s %s", a.Action, a.Content)), nil
	}
	return t
}

const whichOne = `{"type":"object","properties":{"which":{"type":"string","enum":["a","b"]}},"required":["which"]}`

func answering(action tool.Action, content string) tool.Asker {
	return func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{Action: action, Content: []byte(content)}, nil
	}
}

// The answer comes from the call's asker, else from that of its context, else from the
// session's; and nothing that does not fit reaches the tool.
func TestAsk(t *testing.T) {
	t.Parallel()
	h := newHost(t)
	require.NoError(t, h.Register(asking("t.ask")))
	call := tool.Call{Name: "t.ask"}
	for name, c := range map[string]struct {
		session, ctx, call tool.Asker
		want               string
		code               tool.Code
	}{
		"the session's": {session: answering(tool.Accept, `{"which":"a"}`), want: `accept {"which":"a"}`},
		"the context's": {session: answering(tool.Cancel, ""), ctx: answering(tool.Decline, `{"which":"a"}`), want: "decline "},
		"the call's": {
			session: answering(tool.Cancel, ""), ctx: answering(tool.Cancel, ""), call: answering(tool.Accept, `{"which":"b"}`),
			want: `accept {"which":"b"}`,
		},
		"no asker":      {code: tool.CodeUnsupported},
		"no choice":     {call: answering(tool.Accept, `{"which":"c"}`), code: tool.CodeInvalidResult},
		"no form":       {call: answering(tool.Accept, ``), code: tool.CodeInvalidResult},
		"no action":     {call: answering("", `{"which":"a"}`), want: "cancel "},
		"a long answer": {call: answering(tool.Accept, `{"which":"`+strings.Repeat("a", 1<<20)+`"}`), code: tool.CodeResourceExhausted},
		"a panic":       {call: func(context.Context, tool.Question) (tool.Answer, error) { panic("at the person") }, code: tool.CodeToolFailed},
		"an error": {
			call: func(context.Context, tool.Question) (tool.Answer, error) { return tool.Answer{}, errors.New("no form") },
			code: tool.CodeToolFailed,
		},
	} {
		s := h.Session(host.WithAsker(c.session)).With()
		ctx := t.Context()
		if c.ctx != nil {
			ctx = tool.WithAsker(ctx, c.ctx)
		}
		out, _, err := s.CallWith(ctx, call, host.CallOptions{Asker: c.call})
		if tool.CodeOf(err) != c.code || err == nil && out.Content != c.want {
			t.Errorf("%s: got %q, %v", name, out.Content, err)
		}
	}
}

// The person is told who asks, in a text that does what it says.
func TestAskSaysWho(t *testing.T) {
	t.Parallel()
	inner, outer := newHost(t), newHost(t)
	require.NoError(t, inner.Register(asking("t.ask")))
	require.Must(outer.Attach(t.Context(), "inner", inner))(t)
	for name, h := range map[string]*host.Host{"": inner, "attached": outer} {
		var got tool.Question
		_, err := h.Execute(tool.WithAsker(t.Context(), func(_ context.Context, q tool.Question) (tool.Answer, error) {
			got = q
			return tool.Answer{}, nil
		}), tool.Call{Name: "t.ask"})
		if err != nil || got.Message != `Tool t.ask asks: Which\u202e one?` || got.Tool != "t.ask" || got.Plugin != "" {
			t.Errorf("%s: %+v, %v", name, got, err)
		}
	}
}

// Questions that a person must not get.
func TestAskRefused(t *testing.T) {
	t.Parallel()
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.Limits.Questions = 2 }))
	var q tool.Question
	again := echo("t.ask")
	again.Handler = func(ctx context.Context, _ tool.Call) (res tool.Result, err error) {
		for range 3 {
			if _, err = tool.Ask(ctx, q); err != nil {
				break
			}
		}
		return tool.Result{}, err
	}
	require.NoError(t, h.Register(again))
	deep := strings.Repeat(`{"allOf":[`, 100) + `{}` + strings.Repeat(`]}`, 100)
	for name, c := range map[string]struct {
		q     tool.Question
		code  tool.Code
		asked int
	}{
		"too many":     {tool.Question{Message: "?"}, tool.CodeResourceExhausted, 2},
		"no message":   {tool.Question{}, tool.CodeInvalidArguments, 0},
		"nested":       {tool.Question{Message: "?", Schema: []byte(`{"type":"object","properties":{"a":{"type":"object"}}}`)}, tool.CodeInvalidArguments, 0},
		"a bomb":       {tool.Question{Message: "?", Schema: []byte(`{"type":"object","properties":{},"allOf":[` + deep + `]}`)}, tool.CodeInvalidArguments, 0},
		"a loop":       {tool.Question{Message: "?", Schema: []byte(`{"type":"object","allOf":[{"$ref":"#"}]}`)}, tool.CodeInvalidArguments, 0},
		"long message": {tool.Question{Message: strings.Repeat("x", 9<<10)}, tool.CodeInvalidArguments, 0},
	} {
		q = c.q
		asked := 0
		_, err := h.Execute(tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) {
			asked++
			return tool.Answer{}, nil
		}), tool.Call{Name: "t.ask"})
		if tool.CodeOf(err) != c.code || asked != c.asked {
			t.Errorf("%s: %d questions, %v", name, asked, err)
		}
	}
}

// While a question is open, its call holds no slot and its time stands still; then it waits
// for its turn like others.
func TestAskGivesSlotBack(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, host.WithDefaults(func(all *plugin.Settings) {
			all.Limits.Running, all.Limits.Waiting = 1, 1
			all.CallTimeout = 10 * time.Second
		}))
		require.NoError(t, h.Register(asking("t.ask")))
		var running atomic.Int32
		slow := echo("t.slow")
		slow.Handler = func(context.Context, tool.Call) (tool.Result, error) {
			assert.Equalf(t, running.Add(1), 1, "two calls run")
			<-time.After(3 * time.Second)
			running.Add(-1)
			return tool.Text("on"), nil
		}
		require.NoError(t, h.Register(slow))
		answer := make(chan struct{})
		outcome := make(chan error, 1)
		go func() {
			_, err := h.Execute(tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) {
				<-answer
				return tool.Answer{Action: tool.Accept, Content: []byte(`{"which":"a"}`)}, nil
			}), tool.Call{Name: "t.ask"})
			outcome <- err
		}()
		synctest.Wait()
		if out := h.Call(t.Context(), tool.Call{Name: "t.slow"}); !out.Success {
			t.Errorf("another call: %+v", out.Error)
		}
		<-time.After(2 * time.Minute) // far beyond the limit of an attempt
		go h.Call(t.Context(), tool.Call{Name: "t.slow"})
		synctest.Wait()
		close(answer)
		synctest.Wait()
		select {
		case err := <-outcome:
			t.Errorf("it did not wait for its turn: %v", err)
		default:
		}
		assert.NoError(t, <-outcome)
		if out := h.Call(t.Context(), tool.Call{Name: "t.slow"}); !out.Success {
			t.Errorf("the slot is lost: %+v", out.Error)
		}
	})
}

// A call that does not get its slot back in time ends, and takes no slot with it.
func TestAskWaitsForSlotInVain(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, host.WithDefaults(func(all *plugin.Settings) {
			all.Limits.Running, all.Limits.Waiting = 1, 1
			all.CallTimeout = 10 * time.Second
		}))
		require.NoError(t, h.Register(asking("t.ask")))
		slow := echo("t.slow", func(d *tool.Definition) { d.Timeout = tool.Duration(time.Hour) })
		slow.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			<-time.After(time.Minute)
			return tool.Text("on"), nil
		}
		require.NoError(t, h.Register(slow))
		other := make(chan host.Outcome, 1)
		_, err := h.Execute(tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) {
			go func() { other <- h.Call(t.Context(), tool.Call{Name: "t.slow"}) }()
			synctest.Wait()
			return tool.Answer{Action: tool.Accept, Content: []byte(`{"which":"a"}`)}, nil
		}), tool.Call{Name: "t.ask"})
		assert.Equalf(t, tool.CodeOf(err), tool.CodeDeadlineExceeded, "got %v", err)
		if out := <-other; !out.Success {
			t.Errorf("the other call: %+v", out.Error)
		}
		if out := h.Call(t.Context(), tool.Call{Name: "t.slow"}); !out.Success {
			t.Errorf("the slot is lost: %+v", out.Error)
		}
	})
}

// A question ends after ask_timeout, with the caller's context, and with the time of all attempts.
func TestAskEnds(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		h := newHost(t, host.WithDefaults(func(s *plugin.Settings) {
			s.AskTimeout, s.CallTimeout, s.MaxTimeout = 5*time.Minute, time.Minute, 12*time.Minute
		}))
		again := asking("t.ask")
		ask := again.Handler
		again.Handler = func(ctx context.Context, c tool.Call) (tool.Result, error) {
			for {
				if _, err := ask(ctx, c); tool.CodeOf(err) != tool.CodeDeadlineExceeded || ctx.Err() != nil || !strings.Contains(string(c.Arguments), "again") {
					return tool.Result{}, err
				}
			}
		}
		require.NoError(t, h.Register(again))
		for name, c := range map[string]struct {
			arguments string
			limit     time.Duration
			took      time.Duration
			says      string
		}{
			"one question":  {"{}", time.Hour, 5 * time.Minute, "no answer came within 5m0s"},
			"the caller":    {"{}", time.Minute, time.Minute, ""},
			"all questions": {`{"text":"again"}`, time.Hour, 12 * time.Minute, "12m0s"},
		} {
			ctx, cancel := context.WithTimeout(t.Context(), c.limit)
			start := time.Now()
			_, err := h.Execute(tool.WithAsker(ctx, func(ctx context.Context, _ tool.Question) (tool.Answer, error) {
				<-ctx.Done()
				return tool.Answer{}, ctx.Err()
			}), tool.Call{Name: "t.ask", Arguments: []byte(c.arguments)})
			cancel()
			if took := time.Since(start); tool.CodeOf(err) != tool.CodeDeadlineExceeded || took != c.took || !strings.Contains(err.Error(), c.says) {
				t.Errorf("%s: after %v: %v", name, took, err)
			}
		}
	})
}

// A plugin's question reaches the caller on each carrier that can carry it; its process is
// neither idle nor hung meanwhile.
func TestPluginAsks(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Asking)
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Socket, plugin.Unary} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			const limit = 3 * time.Second // twenty times what a call takes on a busy machine
			h := newHost(t, host.WithDefaults(func(all *plugin.Settings) {
				all.Carrier = carrier
				all.CallTimeout = limit
				all.IdleTimeout = limit
			}))
			require.Must(h.Load(t.Context(), dir))(t)
			pid := h.Plugins()[0].PID
			asked := tool.Question{}
			out, _, err := h.Session().CallWith(t.Context(), tool.Call{Name: "ask.order"}, host.CallOptions{
				Asker: func(_ context.Context, q tool.Question) (tool.Answer, error) {
					asked = q
					timer := time.NewTimer(3 * limit)
					defer timer.Stop()
					<-timer.C
					return tool.Answer{Action: tool.Accept, Content: []byte(`{"size":"m","count":2.0}`)}, nil
				},
			})
			if carrier == plugin.Unary {
				assert.Equalf(t, tool.CodeOf(err), tool.CodeUnsupported, "got %+v", out)
				return
			}
			if err != nil || out.Content != "accept: 2 of m, gift false" {
				t.Errorf("got %+v", out)
			}
			if want := "Tool ask.order of plugin asking asks: Which one?"; asked.Message != want || asked.Plugin != "asking" {
				t.Errorf("asked %+v", asked)
			}
			if s := h.Plugins()[0]; s.PID != pid || s.State != plugin.Ready {
				t.Errorf("the plugin is %+v", s)
			}
		})
	}
}
