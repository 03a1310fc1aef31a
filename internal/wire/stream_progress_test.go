package wire

import (
	"context"
	"fmt"
	"log/slog"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// recordingHooks records notices, and log lines as level:text@call.
func recordingHooks(changed chan<- struct{}, logged chan<- string) StreamHooks {
	return StreamHooks{
		Changed: func() { changed <- struct{}{} },
		Log: func(l, message, call, trace string) {
			logged <- fmt.Sprintf("%s:%s@%s%s", l, message, call, trace)
		},
	}
}

// Reports arrive in order, all of them if the caller keeps up, and none after the call's
// end.
func TestStreamProgress(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		const reports = progressQueue
		s := serve(t, carrier, handlers{"work": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			for i := range reports {
				tool.Report(ctx, tool.Progress{Done: float64(i), Total: reports, Message: "m"})
			}
			go func() { // which is not the caller's any more, soon
				for range 100 {
					tool.Report(ctx, tool.Progress{Done: reports})
				}
			}()
			return tool.Text("done"), nil
		}}, StreamHooks{})
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				for range 20 {
					var got []tool.Progress
					var over atomic.Bool
					ctx := tool.WithProgress(t.Context(), func(p tool.Progress) {
						if over.Load() {
							t.Error("a report after the end")
						}
						got = append(got, p)
					})
					res, err := s.Execute(ctx, tool.Call{Name: "work"})
					over.Store(true)
					if err != nil || res.Text() != "done" {
						t.Errorf("%v, %v", res, err)
					}
					last := -1.0
					for _, p := range got {
						if p.Done < last || p.Done == last && last != reports {
							t.Errorf("out of order: %v", got)
						}
						last = p.Done
					}
					if len(got) < reports {
						t.Errorf("%d reports came, of %d that fit the queue", len(got), reports)
					}
				}
			})
		}
		all.Wait()
	})
}

// A caller that is slow to handle a report does not delay others, and loses the oldest
// reports.
func TestStreamSlowListener(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, StreamHooks{})
		busy, let := make(chan struct{}, 1), make(chan struct{})
		var got []float64
		ctx := tool.WithProgress(t.Context(), func(p tool.Progress) {
			if got = append(got, p.Done); len(got) == 1 {
				busy <- struct{}{}
				<-let
			}
		})
		slow := begin(ctx, s, tool.Call{Name: "slow"})
		number, r := p.call()
		if !r.progress {
			t.Error("the plugin is not told that progress is wanted")
		}
		p.send(raw(kindProgress, number, appendProgress(nil, tool.Progress{Done: 1})))
		within(t, "the first report", busy)
		const reports = 1000
		for i := range reports {
			p.send(raw(kindProgress, number, appendProgress(nil, tool.Progress{Done: float64(i + 2)})))
		}
		for range 3 {
			c := begin(t.Context(), s, tool.Call{Name: "other"})
			n, r := p.call()
			if r.progress {
				t.Error("the plugin is told that progress is wanted")
			}
			p.answer(n, "on")
			wantText(t, within(t, "another call", c), "on")
		}
		p.answer(number, "done")
		require.Eventually(t, "the result is there", func() bool { calls, _ := s.table(); return calls == 0 })
		close(let)
		wantText(t, within(t, "the slow call", slow), "done")
		if len(got) > 1+progressQueue || got[len(got)-1] != reports+1 {
			t.Errorf("got %v, want the last %d", got, progressQueue)
		}
	})
}

func TestReportWithoutListener(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"work": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			tool.Report(ctx, tool.Progress{Done: 1})
			ctx, cancel := context.WithCancel(ctx)
			defer cancel()
			tool.Report(ctx, tool.Progress{Done: 1})
			return tool.Text(fmt.Sprint(callctx.Get[func(tool.Progress)](ctx, callctx.Progress{}) == nil)), nil
		}}, StreamHooks{})
		wantText(t, within(t, "the call", begin(t.Context(), s, tool.Call{Name: "work"})), "true")
	})
}

// A log line of the plugin carries its call and its level.
func TestStreamLog(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		logged := make(chan string, 10)
		s := serve(t, carrier, handlers{"say": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			tool.Log(ctx, slog.LevelDebug-4, "trace")
			tool.Log(ctx, slog.LevelDebug, "debug")
			tool.Log(ctx, slog.LevelInfo, "info", "key", 1, "odd")
			tool.Log(ctx, slog.LevelWarn, "bad \xff")
			tool.Log(ctx, slog.LevelError+4, "error")
			tool.Log(ctx, slog.LevelInfo, strings.Repeat("x", maxFrame+1)) // is not sent
			return tool.Text("said"), nil
		}}, recordingHooks(nil, logged))
		wantText(t, within(t, "the call", begin(t.Context(), s, tool.Call{Name: "say", ID: "c1"})), "said")
		for _, want := range []string{"trace:trace@c1", "debug:debug@c1", "info:info key=1 odd@c1", "warn:bad \uFFFD@c1",
			"error:error@c1"} {
			assert.Equal(t, within(t, "a line", logged), want)
		}
		ctx := context.WithValue(t.Context(), callctx.Trace{}, &tool.Trace{Parent: "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01"})
		within(t, "the call", begin(ctx, s, tool.Call{Name: "say", ID: "c2"}))
		assert.Equalf(t, within(t, "a line", logged), "trace:trace@c20af7651916cd43dd8448eb211c80319c", "of a trace")
	})
}

// A plugin may log a thousand lines a second; the host drops the rest and says so.
func TestStreamLogRate(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		var lines, warnings atomic.Int32
		s, p := withPeer(t, carrier, StreamHooks{Log: func(l, m, _, _ string) {
			if lines.Add(1); l == "warn" && strings.Contains(m, "dropped") {
				warnings.Add(1)
			}
		}})
		c := begin(t.Context(), s, tool.Call{Name: "x"})
		number, _ := p.call()
		flood := []byte(strings.Repeat(string(raw(kindLog, number, appendLog(nil, "info", "line"))), 1000))
		began := time.Now()
		for range 50 {
			p.send(flood)
		}
		p.answer(number, "on")
		wantText(t, within(t, "the call", c), "on")
		seconds := int32(time.Since(began).Seconds()) + 2
		if n, w := lines.Load(), warnings.Load(); n > (seconds+1)*logRate || n < logRate || w < 1 || w > seconds+1 {
			t.Errorf("%d lines and %d warnings in about %d seconds", n, w, seconds)
		}
	})
}

// The plugin's notices reach every host that has a stream to it.
func TestStreamChanged(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		changed := make(chan struct{}, 1)
		changes := make(chan struct{})
		s := serve(t, carrier, notifier{handlers{"echo": echo}, changes}, recordingHooks(changed, nil))
		// An answer means that the plugin knows this stream.
		wantText(t, within(t, "a call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		for range 3 {
			changes <- struct{}{}
			within(t, "the notice", changed)
		}
		close(changes)
	})
}

type notifier struct {
	handlers
	changes chan struct{}
}

func (n notifier) Changes() <-chan struct{} { return n.changes }
