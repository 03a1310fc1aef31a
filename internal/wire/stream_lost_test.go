package wire

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The connection is lost at every point of what a plugin sends. Each call ends
// once, and later ones are not sent.
func TestStreamLost(t *testing.T) {
	t.Parallel()
	b := textResponse(strings.Repeat("z", 300))
	type scene struct {
		name string
		sent func(number uint32) []byte
		cut  int
	}
	scenes := []scene{{"between frames", func(uint32) []byte { return nil }, 0}}
	for _, cut := range []int{1, 11, 12, 13, 100} {
		scenes = append(scenes, scene{fmt.Sprintf("result at %d", cut),
			func(n uint32) []byte { return raw(kindResult, n, b) }, cut})
	}
	for _, cut := range []int{1, 12, 19, 20, 21, 119, 120, 125, 132, 140} {
		scenes = append(scenes, scene{fmt.Sprintf("chunks at %d", cut), func(n uint32) []byte {
			return append(first(kindChunk, n, uint64(len(b)), b[:100]), raw(kindResult, n, b[100:])...)
		}, cut})
	}
	onCarriers(t, func(t *testing.T, carrier string) {
		for _, c := range scenes {
			for _, way := range []string{"the plugin's end", "the host's end"} {
				t.Run(c.name+", "+way, func(t *testing.T) {
					t.Parallel()
					told := make(chan error, 1)
					s, p := withPeer(t, carrier, StreamHooks{Failed: func(err error) { told <- err }})
					var all []<-chan outcome
					var number uint32
					for i := range 5 {
						ctx := t.Context()
						if i%2 == 1 {
							ctx = tool.WithProgress(ctx, func(tool.Progress) {})
						}
						all = append(all, begin(ctx, s, tool.Call{Name: "x"}))
						number, _ = p.call()
					}
					p.send(c.sent(number)[:c.cut])
					if way == "the host's end" {
						_ = s.Close()
					} else {
						p.close()
					}
					for _, call := range all {
						o := within(t, "a call", call)
						if e := wantCode(t, o, tool.CodeUnavailable); e.Unsent || !errors.Is(o.err, ErrDisconnected) {
							t.Errorf("got %+v", e)
						}
					}
					within(t, "the failure", s.Failed())
					assert.Equalf(t, within(t, "the hook", told), s.Err(), "the hook is told")
					o := within(t, "a later call", begin(t.Context(), s, tool.Call{Name: "x"}))
					if e := wantCode(t, o, tool.CodeUnavailable); !e.Unsent || !errors.Is(o.err, ErrDisconnected) {
						t.Errorf("later: got %+v", e)
					}
					if calls, _ := s.table(); calls != 0 || s.awaited.Load() != 0 {
						t.Errorf("%d calls are left, %d count", calls, s.awaited.Load())
					}
				})
			}
		}
	})
}

// A service's handlers learn that the host has gone, and Serve ends.
func TestServeLosesHost(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		began, told := make(chan struct{}, 10), make(chan error, 10)
		s := serve(t, carrier, handlers{"wait": func(ctx context.Context, _ tool.Call) (tool.Result, error) {
			began <- struct{}{}
			<-ctx.Done()
			told <- ctx.Err()
			return tool.Result{}, ctx.Err()
		}}, StreamHooks{})
		for range 10 {
			c := begin(t.Context(), s, tool.Call{Name: "wait"})
			within(t, "the handler", began)
			defer func() { _ = wantCode(t, within(t, "a call", c), tool.CodeUnavailable) }()
		}
		_ = s.Stream.Close()
		for range 10 {
			assert.ErrorIs(t, within(t, "the end", told), context.Canceled)
		}
		s.stop() // returns when Serve does
	})
}

// A stream and its service leave nothing behind, however they were used. The test is not
// parallel, so that it counts only its own goroutines.
func TestStreamLeavesNothing(t *testing.T) { //nolint:paralleltest // it counts
	cycle := func(t *testing.T, carrier string) {
		began, let := make(chan struct{}, 10), make(chan struct{})
		s := serve(t, carrier, handlers{"echo": echo, "stubborn": func(context.Context, tool.Call) (tool.Result, error) {
			began <- struct{}{}
			<-let
			return tool.Text("late"), nil
		}, "goexit": func(context.Context, tool.Call) (tool.Result, error) {
			runtime.Goexit()
			return tool.Result{}, nil
		}}, StreamHooks{})
		for range 3 {
			wantText(t, within(t, "echo", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
			_ = wantCode(t, within(t, "goexit", begin(t.Context(), s, tool.Call{Name: "goexit"})), tool.CodeToolFailed)
		}
		// A call reads for a long time, while many calls with progress start and finish.
		long := begin(t.Context(), s, tool.Call{Name: "stubborn"})
		within(t, "the long call", began)
		before := runtime.NumGoroutine()
		for range 50 {
			c := begin(tool.WithProgress(t.Context(), func(tool.Progress) {}), s,
				tool.Call{Name: "echo", Arguments: []byte("on")})
			wantText(t, within(t, "echo", c), "on")
		}
		require.Eventually(t, "calls that are over leave no goroutine", func() bool { return runtime.NumGoroutine() <= before+5 })
		ctx, cancel := context.WithCancel(t.Context())
		given := begin(ctx, s, tool.Call{Name: "stubborn"})
		within(t, "the canceled call", began)
		cancel()
		_ = wantCode(t, within(t, "the canceled call", given), tool.CodeCanceled)
		_ = s.Stream.Close()
		_ = wantCode(t, within(t, "the long call", long), tool.CodeUnavailable)
		close(let)
		s.stop()
	}
	for _, carrier := range carriers { // what the runtime keeps once it was used does not count
		t.Run("warm up on "+carrier, func(t *testing.T) { cycle(t, carrier) })
	}
	before := runtime.NumGoroutine()
	for _, carrier := range carriers { //nolint:paralleltest // it counts
		t.Run(carrier, func(t *testing.T) {
			for range 3 {
				cycle(t, carrier)
			}
		})
	}
	require.Eventually(t, "no goroutine is left", func() bool { return runtime.NumGoroutine() <= before })
}
