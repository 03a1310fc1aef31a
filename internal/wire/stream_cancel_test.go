package wire

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// table returns how many calls a stream's table holds, and how many of them are
// abandoned.
func (s *Stream) table() (calls, given int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return len(s.calls), s.abandoned
}

// settled waits until neither end holds any call.
func settled(t *testing.T, s *Stream) {
	t.Helper()
	require.Eventually(t, "the calls are forgotten", func() bool {
		calls, given := s.table()
		s.out.mu.Lock()
		defer s.out.mu.Unlock()
		return calls == 0 && given == 0 && len(s.out.waiting) == 0 && len(s.out.whole) == 0 && s.awaited.Load() == 0
	})
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.unansweredBytes != 0 || s.err != nil {
		t.Errorf("%d bytes count as not answered; error %v", s.unansweredBytes, s.err)
	}
}

// A canceled call returns whatever its handler does, the handler's context ends, and the
// late answer has no effect.
func TestStreamCancel(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		began, told, let := make(chan struct{}), make(chan error, 1), make(chan struct{})
		s := serve(t, carrier, handlers{"echo": echo,
			"stubborn": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
				close(began)
				<-ctx.Done()
				told <- ctx.Err()
				<-let
				return tool.Text("late"), nil
			}}, StreamHooks{})
		ctx, cancel := context.WithCancel(t.Context())
		c := begin(ctx, s, tool.Call{Name: "stubborn"})
		within(t, "the handler", began)
		cancel()
		o := within(t, "the canceled call", c)
		if e := wantCode(t, o, tool.CodeCanceled); e.Unsent || !errors.Is(o.err, context.Canceled) {
			t.Errorf("got %+v", e)
		}
		assert.ErrorIsf(t, within(t, "the handler's context", told), context.Canceled, "the handler's context says")
		wantText(t, within(t, "another call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		close(let)
		settled(t, s.Stream) // without other calls, the idle reader receives the late answer
	})
}

// A call whose context has ended is not sent.
func TestStreamEndedContext(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		var runs atomic.Int32
		s := serve(t, carrier, handlers{"echo": echo, "count": func(context.Context, tool.Call) (tool.Result, error) {
			runs.Add(1)
			return tool.Result{}, nil
		}}, StreamHooks{})
		ctx, cancel := context.WithCancelCause(t.Context())
		cancel(errors.New("the reason"))
		for range 20 {
			e := wantCode(t, within(t, "the call", begin(ctx, s, tool.Call{Name: "count"})), tool.CodeCanceled)
			if !e.Unsent || !strings.Contains(e.Message, "the reason") {
				t.Errorf("got %+v", e)
			}
		}
		wantText(t, within(t, "echo", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		if n := runs.Load(); n != 0 {
			t.Errorf("%d of the calls ran", n)
		}
	})
}

var errLimit = fmt.Errorf("the test's own limit: %w", context.DeadlineExceeded)

// limits holds the ways to give a call a deadline.
var limits = map[string]func(context.Context, time.Duration) (context.Context, func()){
	"plain": func(ctx context.Context, d time.Duration) (context.Context, func()) {
		c, cancel := context.WithTimeoutCause(ctx, d, errLimit)
		return c, cancel
	},
	"ours": func(ctx context.Context, d time.Duration) (context.Context, func()) {
		c := deadline.New(ctx, time.Now().Add(d), errLimit)
		return c, func() { c.Cancel(nil) }
	},
	"ours, with a waiter": func(ctx context.Context, d time.Duration) (context.Context, func()) {
		c := deadline.New(ctx, time.Now().Add(d), errLimit)
		_ = c.Done()
		return c, func() { c.Cancel(nil) }
	},
	"ours, the parent's": func(ctx context.Context, d time.Duration) (context.Context, func()) {
		plain, cancel := context.WithTimeoutCause(ctx, d, errLimit)
		c := deadline.New(plain, time.Now().Add(time.Hour), nil)
		return c, func() { c.Cancel(nil); cancel() }
	},
	"ours below ours": func(ctx context.Context, d time.Duration) (context.Context, func()) {
		upper := deadline.New(ctx, time.Now().Add(d), errLimit)
		c := deadline.New(upper, time.Now().Add(time.Hour), nil)
		return c, func() { c.Cancel(nil); upper.Cancel(nil) }
	},
}

// A deadline ends a call, with its cause in the text, whether the call itself, another
// call or a goroutine is the reader.
func TestStreamDeadline(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		for name, limit := range limits {
			for _, others := range []int{0, 1, 5} {
				t.Run(fmt.Sprintf("%s, %d others", name, others), func(t *testing.T) {
					t.Parallel()
					s, p := withPeer(t, carrier, StreamHooks{})
					ctx, cancel := context.WithCancel(t.Context())
					defer cancel()
					var all []<-chan outcome
					for range others {
						all = append(all, begin(ctx, s, tool.Call{Name: "other"}))
						p.call()
					}
					for range 3 {
						var o outcome
						var e *tool.Error
						var stop func()
						for d := 20 * time.Millisecond; ; d *= 2 { // a busy machine does not start in time
							var own context.Context
							own, stop = limit(t.Context(), d)
							o = within(t, "the late call", begin(own, s, tool.Call{Name: "late"}))
							if e = wantCode(t, o, tool.CodeDeadlineExceeded); !e.Unsent {
								break
							}
							stop()
						}
						if !errors.Is(o.err, context.DeadlineExceeded) || !strings.Contains(e.Message, "the test's own limit") {
							t.Errorf("got %+v", e)
						}
						number, _ := p.call()
						p.next(kindCancel)
						stop()
						p.answer(number, "late")
					}
					cancel()
					for _, c := range all {
						_ = wantCode(t, within(t, "another call", c), tool.CodeCanceled)
						f, _ := p.next(kindCancel)
						p.answer(f.number, "late")
					}
					settled(t, s)
				})
			}
		}
	})
}

// A call that is canceled while it is sent leaves nothing behind: neither end waits for
// the rest of a message.
func TestStreamCancelOnTheWay(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"echo": echo, "resize": resize}, StreamHooks{})
		var all sync.WaitGroup
		for caller := range byDay(8, 16) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(caller), 3))
				for range byDay(10, 25) {
					ctx, cancel := context.WithTimeout(t.Context(), time.Duration(r.IntN(8000))*time.Microsecond)
					c := tool.Call{Name: "resize", ID: strconv.Itoa(r.IntN(2 << 20)), Arguments: letters(r.IntN(1<<20), 1)}
					if _, err := s.Execute(ctx, c); err != nil && tool.CodeOf(err) != tool.CodeDeadlineExceeded {
						t.Error(err)
					}
					cancel()
				}
			})
		}
		all.Wait()
		settled(t, s.Stream)
		wantText(t, within(t, "echo", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
	})
}

// More uploads and downloads are canceled than a plugin may leave unanswered. By day they are fewer,
// and each is forgotten when it is answered.
func TestStreamCancelManyLarge(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		began := make(chan struct{}, 2*maxAbandoned)
		s := serve(t, carrier, handlers{"resize": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			began <- struct{}{}
			return resize(ctx, c)
		}}, StreamHooks{})
		up := letters(firstWindow+chunkSize, 1)
		for i := range byDay(60, maxAbandoned+100) {
			ctx, cancel := context.WithCancel(t.Context())
			var c <-chan outcome
			if i%2 == 0 { // while the request is sent
				c = begin(ctx, s, tool.Call{Name: "resize", ID: "1", Arguments: up})
				require.Eventually(t, "the call is made", func() bool { return s.awaited.Load() > 0 || len(c) > 0 })
			} else { // while the result is sent
				c = begin(ctx, s, tool.Call{Name: "resize", ID: strconv.Itoa(firstWindow + chunkSize*(i%9))})
				within(t, "the handler", began)
			}
			cancel()
			if o := within(t, "the call", c); errors.Is(o.err, ErrDisconnected) || errors.Is(o.err, ErrProtocol) {
				t.Fatalf("call %d: %v", i, o.err)
			}
			for len(began) > 0 {
				<-began
			}
		}
		settled(t, s.Stream)
	})
}

// Callers that start, finish and cancel at any time pass on the read token as fast as
// possible. No wake-up is lost and every answer reaches its call.
func TestStreamHandover(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"echo": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			if d, _ := strconv.Atoi(c.ID); d > 0 {
				select {
				case <-time.After(time.Duration(d) * time.Microsecond):
				case <-ctx.Done():
				}
			}
			return echo(ctx, c)
		}}, StreamHooks{})
		var all sync.WaitGroup
		for caller := range 32 {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(caller), 4))
				for i := range byDay(30, 100) {
					ctx, cancel := t.Context(), func() {}
					switch r.IntN(4) {
					case 0:
						ctx, cancel = limits["ours"](ctx, time.Duration(r.IntN(2000))*time.Microsecond)
					case 1:
						ctx, cancel = limits["plain"](ctx, time.Duration(r.IntN(2000))*time.Microsecond)
					case 2:
						ctx = tool.WithProgress(ctx, func(tool.Progress) {})
					}
					want := fmt.Sprintf("%d/%d", caller, i)
					o := within(t, "a call", begin(ctx, s, tool.Call{Name: "echo", ID: strconv.Itoa(r.IntN(1500)),
						Arguments: []byte(want)}))
					if o.err != nil && tool.CodeOf(o.err) != tool.CodeDeadlineExceeded || o.err == nil && o.res.Text() != want {
						t.Errorf("sent %s, got %q, %v", want, o.res.Text(), o.err)
					}
					cancel()
				}
			})
		}
		all.Wait()
		settled(t, s.Stream)
	})
}
