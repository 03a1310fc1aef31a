package wire

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// halting is a carrier that returns a few bytes at a time and is interrupted before each
// read.
type halting struct {
	rest  []byte
	step  int
	halts bool
	halt  bool
	held  int // interruptions that were ended
}

func (h *halting) Read(b []byte) (int, error) {
	if h.halts {
		if h.halt = !h.halt; h.halt {
			return 0, os.ErrDeadlineExceeded
		}
	}
	if len(h.rest) == 0 {
		return 0, io.EOF
	}
	n := copy(b[:min(len(b), h.step)], h.rest)
	h.rest = h.rest[n:]
	return n, nil
}

func (h *halting) Send([]byte, [][]byte) error     { return nil }
func (h *halting) Close() error                    { return nil }
func (h *halting) SetReadDeadline(time.Time) error { h.held++; return nil }

// collect reads all frames, each payload into a separate slice.
func collect(in *inbox) (frames []string, err error) {
	var payload []byte
	for {
		ready := in.ready()
		err := in.next(func(f frame) error {
			payload = make([]byte, f.size)
			if f.kind == 99 { // goes nowhere
				return nil
			}
			in.readInto(payload)
			return nil
		}, func(f frame) error {
			frames = append(frames, fmt.Sprintf("%+v %x", f, payload))
			return nil
		})
		switch {
		case in.interrupted(err):
			if ready {
				return frames, errors.New("it was ready, and waited")
			}
		case err != nil:
			return frames, err
		}
	}
}

// The frames are the same however the bytes are split.
func TestInboxPieces(t *testing.T) {
	t.Parallel()
	letters := []byte("abcdefghijklmnopqrstuvwxyz")
	var b []byte
	var want []string
	for i := range 60 {
		payload := bytes.Repeat(letters, i%7)
		f := frame{size: len(payload), kind: kindResult, number: uint32(i)}
		switch i % 5 {
		case 1:
			f.kind, f.flags, f.total = kindChunk, flagFirst, 12345
		case 2:
			f.kind = 99
		}
		b = append(appendHeader(b, f), payload...)
		if f.kind == 99 {
			payload = make([]byte, f.size)
		}
		want = append(want, fmt.Sprintf("%+v %x", f, payload))
	}
	for _, step := range []int{1, 2, 7, 11, 12, 13, 20, 21, 100, 1 << 20} {
		for _, halts := range []bool{false, true} {
			c := &halting{rest: b, step: step, halts: halts}
			got, err := collect(newInbox(c, nil))
			if !errors.Is(err, io.EOF) || !slices.Equal(got, want) {
				t.Errorf("%d bytes at a time: %v, %d frames of %d", step, err, len(got), len(want))
			}
			if halts && c.held == 0 {
				t.Error("no interruption was ended")
			}
		}
	}
	for cut := range 200 { // the end within a frame is not the end
		_, err := collect(newInbox(&halting{rest: b[:cut], step: 5}, nil))
		if !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF) {
			t.Errorf("cut at %d: %v", cut, err)
		}
	}
}

// The budget is reserved for messages in the order in which they started, and is freed.
func TestInboxBudget(t *testing.T) {
	t.Parallel()
	granted := map[uint32]int{}
	in := newInbox(&halting{}, func(n uint32, bytes int) { granted[n] += bytes })
	chunk := func(n uint32, total uint64, size int) error {
		f := frame{size: size, kind: kindChunk, number: n}
		if total > 0 {
			f.flags, f.total = flagFirst, total
		}
		err := in.assemble(f)
		if err == nil {
			in.consumed(n)
		}
		return err
	}
	for n := range uint32(4) {
		require.NoError(t, chunk(n+1, MaxMessage, 0))
	}
	if err := chunk(5, firstWindow, 10); err != nil { // needs no room
		t.Fatal(err)
	}
	if granted[1] == 0 || granted[2] == 0 || granted[3] != 0 || granted[4] != 0 || granted[5] != 0 {
		t.Errorf("granted %v, want 1 and 2", granted)
	}
	for range firstWindow / chunkSize {
		require.NoError(t, chunk(3, 0, chunkSize))
	}
	assert.ErrorIsf(t, chunk(3, 0, 1), ErrProtocol, "past the first window")
	if granted[1] > messageWindow {
		t.Errorf("%d bytes are under way, more than %d", granted[1], messageWindow)
	}
	_ = in.close(1)
	if granted[3] == 0 || granted[4] != 0 {
		t.Errorf("granted %v, want 3 now", granted)
	}
	_ = in.close(4) // it never got room
	for _, n := range []uint32{2, 3, 5} {
		if in.close(n) == nil {
			t.Errorf("%d is not there", n)
		}
	}
	if in.budget != assemblyBudget || len(in.messages)+len(in.queue) != 0 {
		t.Errorf("%d of %d bytes are left, %d messages, %d wait", in.budget, assemblyBudget, len(in.messages), len(in.queue))
	}
	if err := chunk(9, MaxMessage+1, 0); err != errTooLarge { //nolint:errorlint // it is returned as it is
		t.Errorf("too large: %v", err)
	}
}
