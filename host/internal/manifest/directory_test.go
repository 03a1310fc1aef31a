package manifest

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// old is longer ago than anything is kept.
var old = time.Now().Add(-2 * maxAge)

// files writes files that were not used for long, and gives what is in a directory.
func files(t *testing.T, dir string, names ...string) {
	t.Helper()
	for _, name := range names {
		path := filepath.Join(dir, name)
		if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o700), os.WriteFile(path, []byte(name), 0o600), os.Chtimes(path, old, old)); err != nil {
			t.Fatal(err)
		}
	}
}

// contents is what is below a directory, by path; links by where they lead.
func contents(t *testing.T, dir string) map[string]string {
	t.Helper()
	out := map[string]string{}
	require.NoError(t, filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() {
			return err
		}
		text, err := os.ReadFile(path)
		if e.Type() == fs.ModeSymlink {
			text = nil
			path, err = os.Readlink(path)
		}
		out[path] = string(text)
		return err
	}))
	return out
}

// use opens the cache and does all that removes or replaces files.
func use(t *testing.T, dir string) error {
	t.Helper()
	c, err := Open(dir)
	if err != nil {
		return err
	}
	defer func() { _ = c.Close() }()
	s := Subject{Path: program(t, "sample", "binary")}
	if _, err := c.Store(t.Context(), s, about); err != nil {
		return err
	}
	c.dir.prune()
	return nil
}

var hash = strings.Repeat("0123456789abcdef", 4)

// A directory for caches may be a project, with all kinds of things in it: nothing is
// lost, whatever its name and age.
func TestOthersFilesStay(t *testing.T) {
	t.Parallel()
	for what, names := range map[string][]string{
		"a project's manifests":         {"manifests/app.yaml", "manifests/base/app.yaml", "manifests/" + hash, hash + ".json", "go.mod", ".new-thing"},
		"a directory without a marker":  {directoryName + "/" + hash, directoryName + "/" + hash + ".json", directoryName + "/.new-1"},
		"another program's cache":       {directoryName + "/" + marked.MarkerName, directoryName + "/" + hash},
		"a file in the directory's way": {directoryName},
	} {
		dir := t.TempDir()
		files(t, dir, names...)
		before := contents(t, dir)
		err := use(t, dir)
		if foreign := strings.HasPrefix(names[0], directoryName); foreign != errors.Is(err, marked.ErrForeign) || !foreign && err != nil {
			t.Errorf("%s: %v", what, err)
		}
		after := contents(t, dir)
		maps.DeleteFunc(after, func(path, _ string) bool { _, was := before[path]; return !was })
		if !maps.Equal(before, after) {
			t.Errorf("%s: %v is left of %v", what, after, before)
		}
	}
}

// A link where the directory would be is not followed, not even to one that has the
// marker, and what it leads to stays.
func TestLinkedDirectory(t *testing.T) {
	t.Parallel()
	elsewhere, cached, dir := t.TempDir(), t.TempDir(), t.TempDir()
	files(t, elsewhere, "app.yaml", hash, hash+".json")
	require.NoError(t, use(t, cached))
	files(t, filepath.Join(cached, directoryName), hash)
	for _, target := range []string{elsewhere, filepath.Join(cached, directoryName), filepath.Join(dir, "nowhere")} {
		link := filepath.Join(dir, directoryName)
		require.NoError(t, os.Symlink(target, link))
		before := contents(t, filepath.Dir(target))
		assert.ErrorIsf(t, use(t, dir), marked.ErrForeign, "a link to %s", target)
		if after := contents(t, filepath.Dir(target)); !maps.Equal(before, after) {
			t.Errorf("%v is left of %v", after, before)
		}
		if err := os.Remove(link); err != nil {
			t.Error("the link is gone:", err)
		}
	}
}

// In the marked directory, what has no name of this package's, or is not a regular file,
// stays.
func TestPrune(t *testing.T) {
	t.Parallel()
	c := open(t, t.TempDir())
	dir, outside := filepath.Join(c.dir.Above, directoryName), t.TempDir()
	now := time.Now()
	name := func(first string) string { return first + hash[1:] + ".json" }
	earlier := func(first string) string { return first + hash[1:] } // as format 1 had it
	for file, age := range map[string]time.Duration{
		name("0"): 0, name("1"): 7 * 24 * time.Hour, name("2"): maxAge + time.Hour, earlier("0"): 0, earlier("2"): maxAge + time.Hour, temporary + "writing": 0, temporary + "left": 2 * time.Hour,
		hash + ".txt": maxAge + time.Hour, "notes.txt": maxAge + time.Hour, strings.ToUpper(name("a")): maxAge + time.Hour, "0" + name("3"): maxAge + time.Hour,
	} {
		files(t, dir, file)
		require.NoError(t, os.Chtimes(filepath.Join(dir, file), now.Add(-age), now.Add(-age)))
	}
	files(t, outside, "kept")
	if err := errors.Join(os.Symlink(filepath.Join(outside, "kept"), filepath.Join(dir, name("4"))), os.Mkdir(filepath.Join(dir, name("5")), 0o700)); err != nil {
		t.Fatal(err)
	}
	c.dir.prune()
	entries := require.Must(os.ReadDir(dir))(t)
	left := map[string]bool{}
	for _, e := range entries {
		left[e.Name()] = true
	}
	want := map[string]bool{marked.MarkerName: true}
	for _, file := range []string{
		name("0"), name("1"), name("4"), name("5"), earlier("0"), temporary + "writing",
		hash + ".txt", "notes.txt", strings.ToUpper(name("a")), "0" + name("3"),
	} {
		want[file] = true
	}
	if !maps.Equal(left, want) {
		t.Errorf("left: %v\nwant: %v", left, want)
	}
	assert.Equalf(t, len(contents(t, outside)), 1, "what a link leads to was removed")
}

// However many files there are that are not manifests, they push none out.
func TestPruneCountsManifestsOnly(t *testing.T) {
	t.Parallel()
	c, s, _ := filled(t)
	for i := range maxKept + 1 {
		path := filepath.Join(c.dir.Above, directoryName, "note "+strings.Repeat("x", i%50)+time.Duration(i).String())
		require.NoError(t, os.WriteFile(path, nil, 0o600))
	}
	past := time.Now().Add(-time.Hour)
	require.NoError(t, os.Chtimes(pathOf(c, s), past, past))
	c.dir.prune()
	if _, ok := find(t, c, s); !ok {
		t.Error("it was removed")
	}
}

// An empty directory of the name is what a removal by hand may leave.
func TestEmptyDirectoryIsMarked(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.Mkdir(filepath.Join(dir, directoryName), 0o700))
	assert.NoError(t, use(t, dir))
}

// A directory that is removed while it is open is made again.
func TestRemovedDirectory(t *testing.T) {
	t.Parallel()
	c, s, path := filled(t)
	require.NoError(t, os.RemoveAll(filepath.Dir(path)))
	if _, ok := find(t, c, s); ok {
		t.Error("it was found")
	}
	require.Must(c.Store(t.Context(), s, about))(t)
	if _, ok := find(t, c, s); !ok {
		t.Error("it was not stored")
	}
}
