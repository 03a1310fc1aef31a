package wire

import (
	"bytes"
	"errors"
	"io"
	"math"
	"testing"
)

// peeking returns b as the peek function of readHeader.
func peeking(b []byte) func(int) ([]byte, error) {
	return func(n int) ([]byte, error) {
		if n > len(b) {
			return b, io.EOF
		}
		return b[:n], nil
	}
}

func TestHeader(t *testing.T) {
	t.Parallel()
	for _, f := range []frame{
		{}, {kind: kindCall, number: 1}, {size: maxFrame, kind: 255, flags: 254, number: math.MaxUint32},
		{size: 1, kind: kindChunk, flags: flagFirst, number: 258, total: math.MaxUint64},
		{kind: kindResult, flags: 255, total: 1},
	} {
		b := appendHeader([]byte("before"), f)[len("before"):]
		got, n, err := readHeader(peeking(append(bytes.Clone(b), "behind"...)))
		if err != nil || got != f || n != len(b) {
			t.Errorf("%+v: got %+v, %d bytes of %d, %v", f, got, n, len(b), err)
		}
		for cut := range b {
			if _, _, err := readHeader(peeking(b[:cut])); !errors.Is(err, io.EOF) {
				t.Errorf("%+v cut at %d: %v", f, cut, err)
			}
		}
	}
	// The encoding matches the protocol byte for byte.
	want := []byte{4, 3, 1, 0, 3, 1, 0, 0, 8, 7, 6, 5, 16, 15, 14, 13, 12, 11, 10, 9}
	got := appendHeader(nil, frame{size: 0x10304, kind: kindChunk, flags: flagFirst, number: 0x5060708,
		total: 0x90a0b0c0d0e0f10})
	if !bytes.Equal(got, want) {
		t.Errorf("got %v, want %v", got, want)
	}
	for _, size := range []uint32{maxFrame + 1, 1 << 31, math.MaxUint32} {
		b := append([]byte{byte(size), byte(size >> 8), byte(size >> 16), byte(size >> 24)}, make([]byte, 20)...)
		if _, _, err := readHeader(peeking(b)); !errors.Is(err, ErrProtocol) {
			t.Errorf("a frame of %d bytes: %v", size, err)
		}
	}
}

func FuzzHeader(f *testing.F) {
	f.Add([]byte{})
	f.Add(raw(kindCall, 1, nil))
	f.Add(first(kindChunk, 1, MaxMessage, nil))
	f.Add([]byte{255, 255, 255, 255, 0, 0, 0, 0, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, b []byte) {
		h, n, err := readHeader(peeking(b))
		if err != nil {
			return
		}
		if n != headerSize && n != firstHeaderSize || h.size < 0 || h.size > maxFrame {
			t.Fatalf("%+v with %d bytes", h, n)
		}
		again := appendHeader(nil, h)
		copy(again[6:8], b[6:8]) // which a receiver ignores
		if !bytes.Equal(again, b[:n]) {
			t.Errorf("%v became %+v and %v", b[:n], h, again)
		}
	})
}
