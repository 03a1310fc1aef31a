package manifest

import (
	"crypto/sha256"
	"errors"
	"os"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A digest is remembered only where every later change would show.
func TestSettled(t *testing.T) {
	t.Parallel()
	now := time.Now()
	at := func(d time.Duration) int64 { return now.Add(d).UnixNano() }
	for name, c := range map[string]struct {
		id   identity
		want bool
	}{
		"old":                {identity{MTime: at(-time.Hour), Changed: at(-time.Minute)}, true},
		"just written":       {identity{MTime: at(-time.Second), Changed: at(-time.Second)}, false},
		"old times, moved":   {identity{MTime: at(-time.Hour), Changed: at(-time.Second)}, false},
		"of the future":      {identity{MTime: at(time.Hour), Changed: at(time.Hour)}, false},
		"at the very margin": {identity{MTime: at(-settled), Changed: at(-settled)}, false},
	} {
		assert.Equalf(t, c.id.settledAt(now), c.want, "%s: settled", name)
	}
}

// identityAt is the identity of a file that exists.
func identityAt(t *testing.T, path string) identity {
	t.Helper()
	info := require.Must(os.Stat(path))(t)
	id, ok := identityOf(info)
	if !ok {
		t.Fatal("this system has no identities")
	}
	return id
}

// remembering is a record that has a wrong digest of a file: whoever gets it has not read
// the file.
func remembering(t *testing.T, path string) *record {
	t.Helper()
	return &record{SHA256: wrong, File: identityAt(t, path)}
}

var wrong = Digest{1, 2, 3}

func TestHashedOnce(t *testing.T) {
	t.Parallel()
	path := program(t, "sample", "binary")
	r := remembering(t, path)
	if sum, id, err := new(digests).of(t.Context(), path, r); sum != wrong || id != r.File || err != nil {
		t.Errorf("it was hashed again: %v, %v", sum, err)
	}
}

// A file is hashed once, whatever names it has.
func TestHashedOnceInAProcess(t *testing.T) {
	t.Parallel()
	path := program(t, "sample", "binary")
	d := digests{known: map[identity]Digest{identityAt(t, path): wrong}}
	if sum, _, err := d.of(t.Context(), path, new(record)); sum != wrong || err != nil {
		t.Errorf("it was hashed again: %v, %v", sum, err)
	}
	old := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(path, old, old))
	want := Digest(sha256.Sum256([]byte("binary")))
	if sum, _, err := d.of(t.Context(), path, new(record)); sum != want || err != nil {
		t.Errorf("touched: got %v, %v, want %v", sum, err, want)
	}
}

func TestHashedAgain(t *testing.T) {
	t.Parallel()
	want := Digest(sha256.Sum256([]byte("binary")))
	for name, change := range map[string]func(t *testing.T, path string) (Digest, error){
		"touched": func(_ *testing.T, path string) (Digest, error) {
			at := time.Now().Add(-time.Hour)
			return want, os.Chtimes(path, at, at)
		},
		"written": func(_ *testing.T, path string) (Digest, error) {
			return sha256.Sum256([]byte("yraniB")), os.WriteFile(path, []byte("yraniB"), 0o600)
		},
		"written, its time set back": func(t *testing.T, path string) (Digest, error) {
			info := require.Must(os.Stat(path))(t)
			return sha256.Sum256([]byte("yraniB")), errors.Join(os.WriteFile(path, []byte("yraniB"), 0o600), os.Chtimes(path, info.ModTime(), info.ModTime()))
		},
		"exchanged": func(t *testing.T, path string) (Digest, error) {
			return sha256.Sum256([]byte("yraniB")), os.Rename(program(t, "other", "yraniB"), path)
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			path := program(t, "sample", "binary")
			r := remembering(t, path)
			want := require.Must(change(t, path))(t)
			if sum, _, err := new(digests).of(t.Context(), path, r); sum != want || err != nil {
				t.Errorf("got %v, %v, want %v", sum, err, want)
			}
		})
	}
}

// A file that was written a moment ago is hashed, and hashed again by the next.
func TestYoungFilesAreNotRemembered(t *testing.T) {
	t.Parallel()
	path := program(t, "sample", "binary")
	_, id, err := new(digests).of(t.Context(), path, new(record))
	require.NoError(t, err)
	if id != (identity{}) && !identityAt(t, path).settledAt(time.Now()) {
		t.Error("it was remembered")
	}
}

// A binary that was touched is hashed once more, and then known again.
func TestTouchedIsKnownAgain(t *testing.T) {
	t.Parallel()
	c, s, _ := filled(t)
	r, err := c.dir.read(s.name())
	require.NoError(t, err)
	r.File = identity{1, 2, 3, 4, 5}
	require.NoError(t, c.dir.write(s.name(), r))
	if _, ok := find(t, c, s); !ok {
		t.Error("not found")
	}
	if r, err = c.dir.read(s.name()); err != nil || r.File == (identity{1, 2, 3, 4, 5}) {
		t.Errorf("the identity is still %v, %v", r.File, err)
	}
}
