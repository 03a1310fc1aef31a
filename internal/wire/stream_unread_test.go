package wire

import (
	"errors"
	"fmt"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin that reads nothing during many calls, with arguments of every size, delays no
// caller beyond its deadline, and takes little memory.
func TestStreamPluginDoesNotRead(t *testing.T) { //nolint:paralleltest // it measures
	for _, carrier := range carriers { //nolint:paralleltest // it measures
		for name, limit := range limits {
			t.Run(carrier+", "+name, func(t *testing.T) {
				s, p := withPeer(t, carrier, StreamHooks{})
				args := letters(4<<20, 1)
				callers, turns := byDay(20, 40), byDay(2, 5)
				used := heap(func() {
					var all sync.WaitGroup
					for caller := range callers {
						all.Go(func() {
							for turn := range turns {
								ctx, stop := limit(t.Context(), 50*time.Millisecond)
								size := sizes[(caller+turn)%(len(sizes)-1)]
								began := time.Now()
								o := within(t, "a call", begin(ctx, s, tool.Call{Name: "x", Arguments: args[:size]}))
								if took := time.Since(began); took > ceiling/4 {
									t.Errorf("%d bytes: it took %v", size, took)
								}
								_ = wantCode(t, o, tool.CodeDeadlineExceeded)
								stop()
							}
						})
					}
					all.Wait()
				})
				// A small message cannot be withdrawn; a large one can.
				if used > uint64(callers*turns*maxCopied+32<<20) { //nolint:gosec // small
					t.Errorf("%d MiB are in use", used>>20)
				}
				if s.Err() != nil {
					t.Fatalf("the stream has failed: %v", s.Err())
				}
				go readAndAnswer(p)
				c := begin(t.Context(), s, tool.Call{Name: "last"})
				wantText(t, within(t, "the last call", c), "on")
				settled(t, s)
			})
		}
	}
}

// readAndAnswer reads like a correct plugin and answers each call that it receives, until
// the connection ends.
func readAndAnswer(p *peer) {
	begun := map[uint32]bool{}
	for {
		f, _, err := p.read()
		if err != nil {
			return
		}
		switch f.kind {
		case kindChunk:
			begun[f.number] = true
			_ = p.try(raw(kindWindow, f.number, window(uint32(f.size))))
		case kindCancel:
			if begun[f.number] {
				delete(begun, f.number)
				_ = p.try(raw(kindResult, f.number, textResponse("on")))
			}
		case kindCall:
			delete(begun, f.number)
			_ = p.try(raw(kindResult, f.number, textResponse("on")))
		}
	}
}

// A plugin that answers calls without reading them makes the host believe that it reads.
// The callers return nevertheless.
func TestStreamPluginAnswersUnread(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, StreamHooks{})
		go func() {
			for number := uint32(1); p.try(raw(kindResult, number, textResponse("lie"))) == nil; number++ {
				for { // as soon as it is made
					s.mu.Lock()
					made, failed := s.calls[number+1] != nil || s.last > number, s.err != nil
					s.mu.Unlock()
					if failed {
						return
					}
					if made {
						break
					}
					time.Sleep(10 * time.Microsecond)
				}
			}
		}()
		args := letters(8000, 1)
		for i := range 2000 {
			ctx, stop := limits["ours"](t.Context(), 100*time.Millisecond)
			o := within(t, fmt.Sprintf("call %d", i), begin(ctx, s, tool.Call{Name: "x", Arguments: args}))
			stop()
			if errors.Is(o.err, ErrDisconnected) {
				return // the host has closed the stream
			}
			if o.err != nil && tool.CodeOf(o.err) != tool.CodeDeadlineExceeded {
				t.Fatal(o.err)
			}
		}
	})
}

// Beyond this number of canceled calls, the stream is closed.
func TestStreamNeverAnswers(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		for name, limit := range limits {
			t.Run(name, func(t *testing.T) {
				t.Parallel()
				if testing.Short() && (name == "ours") != (carrier == onSocket) {
					t.Skip("takes a second: .ci/long has each deadline on each carrier")
				}
				s, p := withPeer(t, carrier, StreamHooks{})
				go func() {
					for {
						if _, _, err := p.read(); err != nil {
							return
						}
					}
				}()
				waiting := begin(t.Context(), s, tool.Call{Name: "waits"})
				var all sync.WaitGroup
				for range 64 {
					all.Go(func() {
						for s.Err() == nil {
							ctx, stop := limit(t.Context(), time.Millisecond)
							o := within(t, "a call", begin(ctx, s, tool.Call{Name: "x"}))
							if o.err == nil {
								t.Error("it was answered")
							}
							stop()
						}
					})
				}
				all.Wait()
				o := within(t, "the call that waits", waiting)
				if _ = wantCode(t, o, tool.CodeInvalidResult); !errors.Is(o.err, ErrProtocol) {
					t.Errorf("got %v", o.err)
				}
			})
		}
	})
}

// Answers that arrive before the arguments were read leave nothing behind.
func TestStreamAnsweredEarly(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, StreamHooks{})
		for range 20 {
			c := begin(t.Context(), s, tool.Call{Name: "x", Arguments: letters(1<<20, 1)})
			f, _ := p.skipTo(kindChunk)
			p.answer(f.number, "no more, please")
			wantText(t, within(t, "the call", c), "no more, please")
			if got, _ := p.skipTo(kindCancel); got.number != f.number {
				t.Errorf("call %d is cancelled, want %d", got.number, f.number)
			}
			settled(t, s)
		}
	})
}
