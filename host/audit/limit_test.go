package audit

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func init() { children["limit"] = childIsLimited }

// childIsLimited writes until the file may not grow any more, and then is
// allowed more.
func childIsLimited(args []string) error {
	signal.Ignore(syscall.SIGXFSZ)
	f, err := Open(args[0], Options{})
	if err != nil {
		return err
	}
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	most := limit.Cur
	limit.Cur = 1000
	if err := unix.Setrlimit(unix.RLIMIT_FSIZE, &limit); err != nil {
		return err
	}
	n := 0
	for ; err == nil; n++ {
		err = f.Write(record(n))
	}
	if tool.CodeOf(err) != tool.CodeResourceExhausted || !errors.Is(err, syscall.EFBIG) {
		return fmt.Errorf("after %d lines: %w", n, err)
	}
	if r, err := Verify(context.Background(), args[0]); err != nil || r.Break != nil || r.Lines != n-1 {
		return fmt.Errorf("after the error: %w\n%s", err, &r)
	}
	limit.Cur = most
	return errors.Join(unix.Setrlimit(unix.RLIMIT_FSIZE, &limit), f.Write(record(n)), f.Close())
}

func TestFileSizeLimit(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	if out, err := child(t, "limit", path).CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	r := verify(t, path)
	if r.Break != nil || r.Lines < 2 || len(r.Torn) > 0 {
		t.Errorf("the report is\n%s", r)
	}
}

// The other end of a FIFO is not waited for.
func TestRefusedFIFO(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	_, err := Open(path, Options{})
	_, err2 := Verify(t.Context(), path)
	for _, err := range []error{err, err2} {
		assert.ErrorContainsf(t, err, "it is a FIFO", "a FIFO")
	}
}

func TestFullDisk(t *testing.T) {
	t.Parallel()
	for _, event := range []string{Begin, End} {
		f, path := newLog(t, 2, Options{})
		before := read(t, path)
		r := record(2)
		r.Event = event
		for _, cause := range []error{syscall.ENOSPC, syscall.EDQUOT, syscall.EFBIG} {
			f.writeAt = short(cause)
			err := f.Write(r)
			equal(t, "the code", tool.CodeOf(err), tool.CodeResourceExhausted)
			if !errors.Is(err, cause) || !strings.Contains(err.Error(), path+" cannot be written") || !strings.Contains(err.Error(), "make space") {
				t.Errorf("the error is %v", err)
			}
			equal(t, "the log", string(read(t, path)), string(before))
		}
		f.writeAt = (*os.File).WriteAt
		write(t, f, 1)
		isWhole(t, path, 3)
	}
}

func TestNoPermission(t *testing.T) {
	t.Parallel()
	if os.Getuid() == 0 {
		t.Skip("root may do anything")
	}
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o500); err != nil { //nolint:gosec // a directory
		t.Fatal(err)
	}
	if _, err := Open(filepath.Join(dir, "audit.jsonl"), Options{}); err == nil || !strings.Contains(err.Error(), "check who owns") {
		t.Errorf("in a directory that cannot be written: %v", err)
	}
}
