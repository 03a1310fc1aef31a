package pluginrun

import (
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A server that writes more than answers need is slowed down.
func TestStdioIsPaced(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := talker(io.Discard)
		s := newStdio(p.output.limit)
		zero := require.Must(os.Open("/dev/zero"))(t)
		defer func() { _ = zero.Close() }()
		s.out = zero
		begun, chunk := time.Now(), make([]byte, 1<<20)
		for range stdioBurst >> 20 {
			require.Must(io.ReadFull(s, chunk))(t)
		}
		if over, took := p.output.limit.String(), time.Since(begun); over != "" || took != 0 {
			t.Errorf("an answer of %d bytes took %s: %s", stdioBurst, took, over)
		}
		for range stdioRate >> 20 {
			require.Must(io.ReadFull(s, chunk))(t)
		}
		if over, took := p.output.limit.String(), time.Since(begun); over == "" || took != time.Second {
			t.Errorf("%d bytes more took %s: %q", stdioRate, took, over)
		}
	})
}

// What a server does not read is kept up to a bound, and what it reads in the end is whole.
func TestStdioKeepsWhatIsNotRead(t *testing.T) {
	t.Parallel()
	r, w, err := os.Pipe()
	require.NoError(t, err)
	s := newStdio(talker(io.Discard).output.limit)
	s.open(w, r)
	chunk := strings.Repeat("0123456789abcdef", 64<<10)
	const chunks = maxUnread / (1 << 20)
	for range chunks {
		require.Must(io.WriteString(s, chunk))(t)
	}
	wrote := make(chan error, 1)
	go func() { // it waits for room
		_, err := io.WriteString(s, "end")
		wrote <- err
	}()
	got := make([]byte, maxUnread+3)
	if _, err := io.ReadFull(r, got); err != nil || string(got) != strings.Repeat(chunk, chunks)+"end" {
		t.Errorf("what is read is not what was written: %v", err)
	}
	assert.NoError(t, errors.Join(<-wrote, s.Close()))
	if _, err := io.WriteString(s, "x"); !errors.Is(err, io.ErrClosedPipe) {
		t.Errorf("after Close: %v", err)
	}
	_ = r.Close()
}
