package wire

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// recorder is a carrier that records what is sent, and can be blocked before a write.
type recorder struct {
	gate   chan struct{} // nil: open
	err    error
	inside atomic.Int32
	mu     sync.Mutex
	sends  int
	b      bytes.Buffer
}

func (r *recorder) Read([]byte) (int, error) { return 0, io.EOF }
func (r *recorder) Close() error             { return nil }
func (r *recorder) Send(head []byte, body [][]byte) error {
	if r.inside.Add(1) != 1 {
		return errors.New("two write at a time")
	}
	defer r.inside.Add(-1)
	if r.gate != nil {
		<-r.gate
	}
	if r.err != nil {
		return r.err
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.sends++
	r.b.Write(head)
	for _, p := range body {
		r.b.Write(p)
	}
	return nil
}

// frames returns the frames sent so far.
func (r *recorder) frames(t *testing.T) (out []string, payloads map[uint32][]byte) {
	t.Helper()
	r.mu.Lock()
	defer r.mu.Unlock()
	in := bufio.NewReader(bytes.NewReader(r.b.Bytes()))
	payloads = map[uint32][]byte{}
	for {
		f, n, err := readHeader(in.Peek)
		if err != nil {
			return out, payloads
		}
		_, _ = in.Discard(n)
		b := make([]byte, f.size)
		require.Must(io.ReadFull(in, b))(t)
		payloads[f.number] = append(payloads[f.number], b...)
		name := map[kind]string{kindCall: "end", kindChunk: "chunk", kindCancel: "cancel", kindWindow: "window"}[f.kind]
		if f.flags&flagFirst != 0 {
			name = "first"
		}
		out = append(out, fmt.Sprintf("%s%d", name, f.number))
	}
}

func (o *outbox) put(number uint32, size int) {
	b := bytes.Repeat([]byte{byte(number)}, size)
	if size <= maxCopied {
		o.message(kindCall, number, func(to []byte) []byte { return append(to, b...) })
		return
	}
	o.large(kindCall, number, nil, size, b)
}

func newTestOutbox(r *recorder) *outbox {
	return newOutbox(r, func() bool { return false }, func(error) {})
}

// Small frames go first, then messages of one frame, then chunks in turn, as far as the
// windows allow.
func TestOutboxOrder(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	o := newTestOutbox(r)
	const large = firstWindow + chunkSize
	o.put(1, large)
	o.put(2, maxFrame+1)
	o.put(3, maxFrame)
	o.put(4, maxCopied)
	o.control(kindCancel, 5, nil)
	require.NoError(t, o.flush())
	require.Eventually(t, "the chunks are sent", func() bool {
		_, p := r.frames(t)
		return len(p[1]) == firstWindow && len(p[2]) == maxFrame+1
	})
	got, _ := r.frames(t)
	want := []string{"end4", "cancel5", "end3", "first1", "first2", "chunk1", "chunk2", "chunk1", "end2", "chunk1"}
	assert.Equalf(t, fmt.Sprint(got), fmt.Sprint(want), "got %v, want %v", got, want)
	if o.granted(1, chunkSize-1) || o.granted(2, 1<<20) || o.granted(77, 1) {
		t.Error("a window that lets nothing go, lets something go")
	}
	if !o.granted(1, 1) || o.granted(1, 1<<30) {
		t.Error("the window is not as it should be")
	}
	require.NoError(t, o.flush())
	require.Eventually(t, "the rest is sent", func() bool { _, p := r.frames(t); return len(p[1]) == large })
	if got, _ := r.frames(t); got[len(got)-1] != "end1" {
		t.Errorf("got %v", got)
	}
	_, payloads := r.frames(t)
	for n, p := range payloads {
		assert.Equalf(t, len(bytes.Trim(p, string([]byte{byte(n)}))), 0, "the bytes of %d are not its own", n)
	}
}

// A dropped message is not sent, and drop reports whether a part of it was.
func TestOutboxDrop(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	o := newTestOutbox(r)
	for _, c := range []struct {
		size         int
		flush        bool
		found, begun bool
	}{
		{maxCopied, false, false, false},
		{maxFrame, false, true, false},
		{maxFrame, true, false, false},
		{maxFrame + 1, false, true, false},
		{maxFrame + 1, true, false, false},
		{1 << 20, true, true, true},
	} {
		number := uint32(c.size)
		if c.flush {
			number++
		}
		o.put(number, c.size)
		if c.flush {
			require.NoError(t, o.flush())
			require.Eventually(t, "it is sent", func() bool { _, p := r.frames(t); return len(p[number]) == min(c.size, firstWindow) })
			require.Eventually(t, "the writer has finished", func() bool { o.mu.Lock(); defer o.mu.Unlock(); return !o.writing })
		}
		if found, begun := o.drop(number); found != c.found || begun != c.begun {
			t.Errorf("%+v: got %v, %v", c, found, begun)
		}
		if found, _ := o.drop(number); found {
			t.Errorf("%+v: dropped twice", c)
		}
	}
	assert.Equalf(t, len(o.whole)+len(o.chunked)+len(o.waiting), 0, "something is left")
}

// A caller that must not wait for the receiver writes little, whatever others have queued.
func TestOutboxFlushSome(t *testing.T) {
	t.Parallel()
	for _, queued := range []int{maxCopied * 3, maxFrame, 1 << 20} {
		r := &recorder{gate: make(chan struct{})}
		o := newTestOutbox(r)
		for n := uint32(1); queued > maxCopied && n <= 3; n++ {
			o.put(n, min(queued, maxCopied))
		}
		if queued > maxCopied*3 {
			o.put(9, queued)
		}
		done := make(chan error, 1)
		go func() { done <- o.flushSome() }()
		if err := within(t, "the write", done); err != nil { // the gate is shut
			t.Error(err)
		}
		close(r.gate)
		require.Eventually(t, "a goroutine writes all", func() bool { f, _ := r.frames(t); return len(f) >= 3 })
	}
}

// One goroutine writes at a time, for all, and no message is lost.
func TestOutboxConcurrent(t *testing.T) {
	t.Parallel()
	r := &recorder{}
	o := newOutbox(r, func() bool { return true }, func(err error) { t.Error(err) })
	var all sync.WaitGroup
	const callers, turns = 16, 30
	for caller := range callers {
		all.Go(func() {
			for turn := range turns {
				o.put(uint32(1+caller*turns+turn), []int{0, 100, maxCopied, maxCopied + 1, maxFrame + 1}[turn%5])
				if turn%2 == 0 {
					o.control(kindCancel, 100_000, nil)
				}
				var err error
				if turn%3 == 0 {
					err = o.flushSome()
				} else {
					err = o.flush()
				}
				assert.NoError(t, err)
			}
		})
	}
	all.Wait()
	require.Eventually(t, "all is sent", func() bool {
		o.mu.Lock()
		defer o.mu.Unlock()
		return !o.writing && len(o.small)+len(o.whole)+len(o.waiting) == 0
	})
	_, payloads := r.frames(t)
	for caller := range callers {
		for turn := range turns {
			want := []int{0, 100, maxCopied, maxCopied + 1, maxFrame + 1}[turn%5]
			if p, ok := payloads[uint32(1+caller*turns+turn)]; !ok || len(p) != want {
				t.Errorf("%d/%d: %d bytes of %d", caller, turn, len(p), want)
			}
		}
	}
}

// After a failure the queue is empty, and every flush returns the error.
func TestOutboxFails(t *testing.T) {
	t.Parallel()
	broken := errors.New("broken")
	told := make(chan error, 1)
	r := &recorder{err: broken}
	o := newOutbox(r, func() bool { return false }, func(err error) { told <- err })
	o.put(1, 1<<20)
	if err := o.flush(); err != nil { // a goroutine meets it
		t.Errorf("got %v", err)
	}
	assert.ErrorIs(t, within(t, "the failure", told), broken)
	o.put(2, 10)
	assert.ErrorIsf(t, o.flush(), broken, "later")
	o.mu.Lock()
	defer o.mu.Unlock()
	assert.Equalf(t, len(o.waiting)+len(o.chunked)+len(o.whole), 0, "something is kept")
}
