package wire

import (
	"bytes"
	"errors"
	"math"
	"runtime"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Frames that no plugin may send end the stream, and each call with an error that blames
// the plugin.
func TestStreamProtocolErrors(t *testing.T) {
	t.Parallel()
	kib := make([]byte, chunkSize)
	for name, sent := range map[string]func(n uint32) []byte{
		"frame too large": func(n uint32) []byte {
			return appendHeader(nil, frame{size: maxFrame + 1, kind: kindResult, number: n})
		},
		"frame of 4 GiB": func(n uint32) []byte {
			return append([]byte{255, 255, 255, 255}, raw(kindResult, n, nil)[4:]...)
		},
		"unknown, too large": func(n uint32) []byte {
			return appendHeader(nil, frame{size: maxFrame + 1, kind: 99, number: n})
		},
		"unasked result":     func(n uint32) []byte { return raw(kindResult, n+1, nil) },
		"result of number 0": func(uint32) []byte { return raw(kindResult, 0, nil) },
		"unasked chunk":      func(n uint32) []byte { return first(kindChunk, n+7, 100, nil) },
		"answered twice": func(n uint32) []byte {
			return append(raw(kindResult, n, textResponse("on")), raw(kindResult, n, nil)...)
		},
		"chunk without first": func(n uint32) []byte { return raw(kindChunk, n, kib[:10]) },
		"first twice": func(n uint32) []byte {
			return append(first(kindChunk, n, 100, kib[:10]), first(kindChunk, n, 100, kib[:10])...)
		},
		"result with first within": func(n uint32) []byte {
			return append(first(kindChunk, n, 100, kib[:10]), first(kindResult, n, 90, kib[:90])...)
		},
		"window overflow": func(n uint32) []byte {
			b := first(kindChunk, n, MaxMessage, kib)
			for range (firstWindow + messageWindow) / chunkSize { // faster than any window
				b = append(b, raw(kindChunk, n, kib)...)
			}
			// and at window speed, so the total is exceeded too
			return append(b, slices.Repeat(raw(kindChunk, n, kib), MaxMessage/chunkSize)...)
		},
		"longer than said":  func(n uint32) []byte { return first(kindChunk, n, 9, kib[:10]) },
		"shorter than said": func(n uint32) []byte { return first(kindResult, n, 11, kib[:10]) },
		"result without rest": func(n uint32) []byte {
			return append(first(kindChunk, n, 20, kib[:10]), raw(kindResult, n, kib[:9])...)
		},
		"a call":       func(n uint32) []byte { return raw(kindCall, n, nil) },
		"a cancel":     func(n uint32) []byte { return raw(kindCancel, n, nil) },
		"an answer":    func(n uint32) []byte { return raw(kindAnswer, n, nil) },
		"empty window": func(n uint32) []byte { return raw(kindWindow, n, nil) },
		"long window":  func(n uint32) []byte { return raw(kindWindow, n, kib[:8]) },
		"bad progress": func(n uint32) []byte { return raw(kindProgress, n, []byte{0xff}) },
		"bad log":      func(n uint32) []byte { return raw(kindLog, n, []byte{0xff}) },
		"bad question": func(n uint32) []byte { return raw(kindAsk, n, []byte{0xff}) },
		"unasked question": func(n uint32) []byte {
			return raw(kindAsk, n+1, encodeQuestion(1, tool.Question{Message: "?"}))
		},
		"question after the result": func(n uint32) []byte {
			return append(raw(kindResult, n, textResponse("on")), raw(kindAsk, n, encodeQuestion(1, tool.Question{Message: "?"}))...)
		},
		"large message": func(n uint32) []byte {
			return raw(kindAsk, n, encodeQuestion(1, tool.Question{Message: string(kib)}))
		},
		"large schema": func(n uint32) []byte {
			return raw(kindAsk, n, encodeQuestion(1, tool.Question{Message: "?", Schema: append(kib[:len(kib):len(kib)], 0)}))
		},
		"question flood": func(n uint32) []byte {
			return bytes.Repeat(raw(kindAsk, n, encodeQuestion(1, tool.Question{Message: "?"})), maxQuestions+1)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			onCarriers(t, func(t *testing.T, carrier string) {
				s, p := withPeer(t, carrier, recordingHooks(nil, make(chan string, 10)))
				c := begin(t.Context(), s, tool.Call{Name: "x"})
				number, _ := p.call()
				go func() { _ = p.try(sent(number)) }() // the host may stop reading
				o := within(t, "the call", c)
				if name == "answered twice" || name == "question after the result" {
					wantText(t, o, "on")
				} else if e := wantCode(t, o, tool.CodeInvalidResult); e.Advice() == "" || !errors.Is(o.err, ErrProtocol) {
					t.Errorf("got %+v", e)
				}
				within(t, "the end of the stream", s.Failed())
				if !errors.Is(s.Err(), ErrProtocol) {
					t.Errorf("the stream ended with %v", s.Err())
				}
			})
		})
	}
}

// The host ignores frames that it does not know or cannot use.
func TestStreamSkips(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		s, p := withPeer(t, carrier, StreamHooks{})
		c := begin(t.Context(), s, tool.Call{Name: "x"})
		number, _ := p.call()
		for _, size := range []int{0, 1, 4096, maxFrame} {
			p.send(raw(0, number, make([]byte, size)), raw(99, number, make([]byte, size)), raw(255, 0, make([]byte, size)),
				first(77, number, math.MaxUint64, make([]byte, size)),
				raw(kindChanged, 0, make([]byte, size)))
		}
		p.send(raw(kindWindow, number, window(math.MaxUint32)), raw(kindWindow, number, window(math.MaxUint32)),
			raw(kindWindow, 12345, window(0)),
			raw(kindProgress, number, nil), raw(kindProgress, 12345, nil), raw(kindLog, 12345, nil))
		p.answer(number, "on")
		wantText(t, within(t, "the call", c), "on")
		settled(t, s)
	})
}

// A message whose announced length is too large ends only its own call.
func TestStreamAnnouncedTooLarge(t *testing.T) {
	t.Parallel()
	onCarriers(t, func(t *testing.T, carrier string) {
		for _, total := range []uint64{MaxMessage + 1, 1 << 40, math.MaxUint64} {
			s, p := withPeer(t, carrier, StreamHooks{})
			other := begin(t.Context(), s, tool.Call{Name: "other"})
			others, _ := p.call()
			c := begin(t.Context(), s, tool.Call{Name: "large"})
			number, _ := p.call()
			chunk := make([]byte, chunkSize)
			p.send(first(kindChunk, number, total, chunk))
			_ = wantCode(t, within(t, "the call", c), tool.CodeResourceExhausted)
			p.next(kindCancel)
			more := raw(kindChunk, number, chunk)
			for range firstWindow/chunkSize - 1 { // what was on its way when it was told
				p.send(more)
			}
			if total == 1<<40 { // and what was not
				_ = p.try(more)
				if o := within(t, "the other", other); !errors.Is(o.err, ErrProtocol) {
					t.Errorf("it goes on for ever, and the other call got %v", o.err)
				}
				continue
			}
			p.answer(others, "on")
			wantText(t, within(t, "the other", other), "on")
			p.send(raw(kindResult, number, nil))
			settled(t, s)
		}
	})
}

// heap returns by how many bytes the heap grows at most while f runs.
func heap(f func()) uint64 {
	measure := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	before := measure()
	f()
	if after := measure(); after > before {
		return after - before
	}
	return 0
}

// Announcements take no memory: many messages of 64 MiB are announced, and none is sent.
// The test is not parallel, because it measures memory.
func TestStreamPromises(t *testing.T) { //nolint:paralleltest // it measures
	for _, carrier := range carriers { //nolint:paralleltest // it measures
		t.Run(carrier, func(t *testing.T) {
			s, p := withPeer(t, carrier, StreamHooks{})
			const calls = 100
			var all []<-chan outcome
			used := heap(func() {
				for range calls {
					all = append(all, begin(t.Context(), s, tool.Call{Name: "x"}))
					number, _ := p.call()
					p.send(first(kindChunk, number, MaxMessage, []byte("x")))
				}
				// The first two have got a window, and use more than a first one.
				for number := range uint32(2) {
					for range firstWindow/chunkSize + 1 {
						p.send(raw(kindChunk, number+1, make([]byte, chunkSize)))
					}
				}
				c := begin(t.Context(), s, tool.Call{Name: "y"})
				number, _ := p.call()
				p.answer(number, "on")
				wantText(t, within(t, "a small call", c), "on")
			})
			if limit := uint64(assemblyBudget + calls*firstWindow + 64<<20); used > limit {
				t.Errorf("%d MiB are in use, more than %d", used>>20, limit>>20)
			}
			_ = s.Close()
			for _, c := range all {
				_ = wantCode(t, within(t, "a call", c), tool.CodeUnavailable)
			}
		})
	}
}

// A flood of small frames is ignored at the rate at which it is read.
func TestStreamFlood(t *testing.T) { //nolint:paralleltest // it measures
	for _, carrier := range carriers { //nolint:paralleltest // it measures
		for name, payload := range map[kind][]byte{
			kindProgress: appendProgress(nil, tool.Progress{Done: 1, Message: strings.Repeat("m", 50)}),
			kindLog:      appendLog(nil, "info", strings.Repeat("m", 50)),
			kindWindow:   window(math.MaxUint32),
			kindChanged:  nil,
			99:           make([]byte, 50),
		} {
			t.Run(carrier+" kind "+string('0'+rune(name)), func(t *testing.T) {
				s, p := withPeer(t, carrier, StreamHooks{})
				seen := make(chan struct{}, 1)
				c := begin(tool.WithProgress(t.Context(), func(tool.Progress) {
					select {
					case seen <- struct{}{}:
					default:
					}
				}), s, tool.Call{Name: "x"})
				number, _ := p.call()
				used := heap(func() {
					many := []byte(strings.Repeat(string(raw(name, number, payload)), 1000))
					for range byDay(40, 200) {
						p.send(many)
					}
					other := begin(t.Context(), s, tool.Call{Name: "y"})
					n, _ := p.call()
					p.answer(n, "on")
					wantText(t, within(t, "a call amid the flood", other), "on")
				})
				if limit := uint64(byDay(8, 32)) << 20; used > limit {
					t.Errorf("%d MiB are in use", used>>20)
				}
				p.answer(number, "done")
				wantText(t, within(t, "the call", c), "done")
				settled(t, s)
			})
		}
	}
}
