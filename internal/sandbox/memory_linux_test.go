//go:build linux && (amd64 || arm64)

package sandbox

import (
	"errors"
	"os"
	"path/filepath"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/require"
)

// earlier has a process leave a note in a new directory, and returns the note. It skips the test if there is
// nothing to note.
func earlier(t *testing.T) (dir, note string) {
	t.Helper()
	dir = t.TempDir()
	if f := require.Must((&memory{look: detect, dir: dir}).detect())(t); f != everything() {
		t.Skipf("this system lacks something: %+v", f)
	}
	return dir, filepath.Join(dir, "toolhost-sandbox")
}

// itLooks reports whether a process that finds a directory looks for itself, and what it has in the end.
func itLooks(t *testing.T, dir string) (looked bool) {
	t.Helper()
	m := &memory{dir: dir, look: func() (Features, error) {
		looked = true
		return detect()
	}}
	if got, want := require.Must(m.detect())(t), require.Must(detect())(t); got != want {
		t.Errorf("%+v was detected, want %+v", got, want)
	}
	return looked
}

func TestNotesAreBelieved(t *testing.T) {
	t.Parallel()
	dir, note := earlier(t)
	if itLooks(t, dir) {
		t.Error("the note of an earlier process does not count")
	}
	require.NoError(t, os.Remove(note))
	if !itLooks(t, dir) || itLooks(t, dir) {
		t.Error("a note that was removed is not written again")
	}
}

// Who may write into the directory cannot have a process believe anything.
func TestHostileNotes(t *testing.T) {
	t.Parallel()
	for name, plant := range map[string]func(t *testing.T, note string, says []byte){
		"writable":        func(t *testing.T, note string, _ []byte) { require.NoError(t, os.Chmod(note, 0o602)) }, //nolint:gosec // that is the point
		"readable":        func(t *testing.T, note string, _ []byte) { require.NoError(t, os.Chmod(note, 0o640)) }, //nolint:gosec // the same
		"another user's":  func(t *testing.T, note string, _ []byte) { chown(t, note) },
		"link":            func(t *testing.T, note string, _ []byte) { elsewhere(t, note) },
		"of another boot": func(t *testing.T, note string, says []byte) { says[0] ^= 1; overwrite(t, note, says) },
		"longer":          func(t *testing.T, note string, says []byte) { overwrite(t, note, append(says, '\n')) },
		"empty":           func(t *testing.T, note string, _ []byte) { overwrite(t, note, nil) },
		"FIFO": func(t *testing.T, note string, _ []byte) {
			require.NoError(t, os.Remove(note))
			require.NoError(t, unix.Mkfifo(note, 0o600))
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, note := earlier(t)
			plant(t, note, require.Must(os.ReadFile(note))(t))
			if !itLooks(t, dir) {
				t.Error("the note is believed")
			}
		})
	}
}

func overwrite(t *testing.T, note string, text []byte) {
	t.Helper()
	require.NoError(t, os.WriteFile(note, text, 0o600))
}

func chown(t *testing.T, note string) {
	t.Helper()
	if os.Getuid() != 0 {
		t.Skip("only root can give a file away")
	}
	require.NoError(t, os.Chown(note, 65534, 65534))
}

func elsewhere(t *testing.T, note string) {
	t.Helper()
	other := note + "-elsewhere"
	require.NoError(t, os.Rename(note, other))
	require.NoError(t, os.Symlink(other, note))
}

// What is missing, or cannot be found out, is looked for by each process.
func TestOnlyEverythingIsNoted(t *testing.T) {
	t.Parallel()
	without := everything()
	without.Network = false
	for name, look := range map[string]func() (Features, error){
		"missing":  func() (Features, error) { return without, nil },
		"shortage": func() (Features, error) { return everything(), unix.EAGAIN },
	} {
		dir := t.TempDir()
		_, err := (&memory{look: look, dir: dir}).detect()
		if name == "shortage" && !errors.Is(err, unix.EAGAIN) {
			t.Errorf("shortage: %v", err)
		}
		if entries := require.Must(os.ReadDir(dir))(t); len(entries) > 0 {
			t.Errorf("%s: %s was written", name, entries[0].Name())
		}
	}
}

// After a failure the note does not count, and goes if it was false.
func TestDoubt(t *testing.T) {
	t.Parallel()
	dir, note := earlier(t)
	without := everything()
	without.Network = false
	m := &memory{dir: dir, look: func() (Features, error) { return without, nil }}
	if got := require.Must(m.detect())(t); got != everything() {
		t.Fatalf("%+v was detected", got)
	}
	if !m.doubt() || m.doubt() {
		t.Error("there is nothing to doubt, or more than once")
	}
	if got := require.Must(m.detect())(t); got != without {
		t.Errorf("%+v was detected after a doubt", got)
	}
	if _, err := os.Lstat(note); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("the false note: %v", err)
	}
}
