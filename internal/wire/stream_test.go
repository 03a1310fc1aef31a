package wire

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/fixture"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

func TestStreamConformance(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		tooltest.Run(t, func(t *testing.T) tool.Provider {
			set := require.Must(tool.NewSet(fixture.Tools()...))(t)
			return serve(t, carrier, set, StreamHooks{})
		})
	})
}

// sizes holds the sizes at which the encoding of a message changes.
var sizes = []int{
	0, 1, 80, maxCopied - 64, maxCopied, maxCopied + 64, chunkSize, maxFrame - 64, maxFrame, maxFrame + 1,
	firstWindow - 64, firstWindow, firstWindow + 1, 1 << 20, messageWindow + firstWindow, 8 << 20,
}

// letters returns n bytes that identify a call.
func letters(n, seed int) []byte {
	b := make([]byte, 8191) // a prime: chunks that change places are found
	r := rand.NewPCG(uint64(seed), 1)
	for i := range b {
		b[i] = 'a' + byte(r.Uint64()%26)
	}
	return bytes.Repeat(b, n/len(b)+1)[:n]
}

// resize answers with as many bytes as the call's ID says, taken from the arguments.
func resize(_ context.Context, c tool.Call) (tool.Result, error) {
	n, err := strconv.Atoi(c.ID)
	if err != nil {
		return tool.Result{}, err
	}
	text := strings.Repeat(string(c.Arguments)+".", n/(len(c.Arguments)+1)+1)[:n]
	return tool.Text(fmt.Sprintf("%d:%s", len(c.Arguments), text)), nil
}

// Arguments and results of every size reach the right call, many at a time.
func TestStreamManySizes(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"resize": resize}, StreamHooks{})
		var all sync.WaitGroup
		for caller := range byDay(8, 64) {
			all.Go(func() {
				r := rand.New(rand.NewPCG(uint64(caller), 2))
				for turn := range byDay(2, 4) {
					in, out := sizes[r.IntN(len(sizes)-5)], sizes[r.IntN(len(sizes)-5)]
					switch { // few are large, to limit memory and time
					case caller == 0 && turn == 0:
						in = byDay(2, 16) << 20 // by day, TestStreamEachSize has the larger ones
					case caller == 1:
						out = byDay(1, 8) << 20
					case caller > 1 && caller < 6:
						in, out = sizes[len(sizes)-caller+1], sizes[len(sizes)-caller]
					}
					c := tool.Call{Name: "resize", ID: strconv.Itoa(out), Arguments: letters(in, caller)}
					got, err := s.Execute(t.Context(), c)
					want, _ := resize(t.Context(), c)
					if err != nil || got.Text() != want.Text() {
						t.Errorf("caller %d: %d bytes in, %d out: got %d, %v", caller, in, out, len(got.Text()), err)
					}
				}
			})
		}
		all.Wait()
	})
}

// Each size is sent alone, so that no other call's frames trigger its writes.
func TestStreamEachSize(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"echo": echo}, StreamHooks{})
		for _, n := range sizes {
			args := letters(n, n)
			o := within(t, fmt.Sprintf("%d bytes", n), begin(t.Context(), s, tool.Call{Name: "echo", Arguments: args}))
			if o.err != nil || !bytes.Equal([]byte(o.res.Text()), args) {
				t.Errorf("%d bytes: got %d, %v", n, len(o.res.Text()), o.err)
			}
		}
	})
}

// Handlers that block delay no other call, however many there are.
func TestStreamQuickOvertakesSlow(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		started, let := make(chan struct{}, 100), make(chan struct{})
		s := serve(t, carrier, handlers{"echo": echo, "slow": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			started <- struct{}{}
			select {
			case <-let:
			case <-ctx.Done():
			}
			return echo(ctx, c)
		}}, StreamHooks{})
		var slow []<-chan outcome
		for i := range 20 {
			slow = append(slow, begin(t.Context(), s, tool.Call{Name: "slow", Arguments: []byte(strconv.Itoa(i))}))
			within(t, "the handler", started)
			wantText(t, within(t, "a quick call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("quick")})),
				"quick")
		}
		close(let)
		for i, c := range slow {
			wantText(t, within(t, "a slow call", c), strconv.Itoa(i))
		}
	})
}

// Small calls start and finish while large results and arguments are sent.
func TestStreamSmallAmongLarge(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"echo": echo, "resize": resize}, StreamHooks{})
		var large []<-chan outcome
		size := byDay(8, 32) << 20
		for i := range byDay(1, 3) {
			large = append(large, begin(t.Context(), s,
				tool.Call{Name: "resize", ID: strconv.Itoa(size), Arguments: letters(100, i)}),
				begin(t.Context(), s, tool.Call{Name: "resize", ID: "100", Arguments: letters(size/4, i)}))
		}
		before := 0
		for range 50 {
			wantText(t, within(t, "a small call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("small")})),
				"small")
			for _, c := range large {
				before += 1 - len(c)
			}
		}
		if before == 0 {
			t.Error("no small call came before a large one: nothing was seen")
		}
		for _, c := range large {
			if o := within(t, "a large call", c); o.err != nil {
				t.Error(o.err)
			}
		}
	})
}

// A message that is too large fails only its own call.
func TestStreamTooLarge(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"echo": echo, "huge": func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Text(strings.Repeat("x", MaxMessage)), nil
		}}, StreamHooks{})
		o := within(t, "arguments", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: make([]byte, MaxMessage)}))
		if e := wantCode(t, o, tool.CodeResourceExhausted); !e.Unsent {
			t.Error("the error does not say that nothing was sent")
		}
		o = within(t, "a result", begin(t.Context(), s, tool.Call{Name: "huge"}))
		_ = wantCode(t, o, tool.CodeResourceExhausted)
		wantText(t, within(t, "echo", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
	})
}

// An error whose text differs each time is still a single answer.
func TestStreamMoodyError(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s := serve(t, carrier, handlers{"echo": echo, "moody": func(context.Context, tool.Call) (tool.Result, error) {
			return tool.Result{}, &moody{}
		}}, StreamHooks{})
		for range 3 {
			o := within(t, "the error", begin(t.Context(), s, tool.Call{Name: "moody"}))
			if o.err == nil || errors.Is(o.err, ErrDisconnected) {
				t.Errorf("got %v", o.err)
			}
			wantText(t, within(t, "echo", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
		}
	})
}

// Many calls and results can be queued at a time.
func TestStreamThousandsAtATime(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		calls := byDay(1000, 2000)
		let, arrived := make(chan struct{}), make(chan struct{}, calls)
		s := serve(t, carrier, handlers{"wait": func(ctx context.Context, c tool.Call) (tool.Result, error) {
			arrived <- struct{}{}
			select {
			case <-let:
			case <-ctx.Done():
			}
			return tool.Text(c.ID + strings.Repeat("r", 1000)), nil
		}}, StreamHooks{})
		args := make([]byte, 1000)
		var all []<-chan outcome
		for i := range calls {
			all = append(all, begin(t.Context(), s, tool.Call{Name: "wait", ID: strconv.Itoa(i), Arguments: args}))
		}
		for range calls {
			within(t, "the calls", arrived)
		}
		close(let) // and now as many results
		for i, c := range all {
			o := within(t, "a result", c)
			if o.err != nil || !strings.HasPrefix(o.res.Text(), strconv.Itoa(i)+"r") {
				t.Fatalf("call %d: %.20q, %v", i, o.res.Text(), o.err)
			}
		}
	})
}
