package known_test

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var fs, buffer = known.Plugin{Dir: "/plugins", Name: "fs"}, known.Plugin{Dir: "/plugins", Name: "buffer"}

// needs are of a plugin that connects to hosts.
func needs(hosts ...string) *tool.Needs { return &tool.Needs{Net: hosts} }

func open(t *testing.T, path string) *known.Book {
	t.Helper()
	b := require.Must(known.Open(path))(t)
	return b
}

func ran(t *testing.T, b *known.Book, p known.Plugin, n *tool.Needs) {
	t.Helper()
	assert.NoError(t, b.Note(func(all known.Records) { all.Ran(p, n) }))
}

func accept(t *testing.T, b *known.Book, p known.Plugin, n *tool.Needs) {
	t.Helper()
	assert.NoError(t, b.Decide(func(all known.Records) { all.Accept(p, n) }))
}

// has checks what was accepted of a plugin.
func has(t *testing.T, b *known.Book, p known.Plugin, want *tool.Needs) {
	t.Helper()
	if one := b.Of(p); !one.Ran || !reflect.DeepEqual(one.Needs, want) {
		t.Errorf("%s: %+v, want %v", p.Name, one, want)
	}
}

// The first needs stay, whoever reads the book and whatever the plugin declares later, until
// others are accepted.
func TestTheFirstStay(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a file": filepath.Join(t.TempDir(), "toolhost"), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, path)
			if one := b.Of(fs); one.Ran {
				t.Errorf("at first: %+v", one)
			}
			ran(t, b, fs, needs("B.example:1", "a.example:1"))
			ran(t, b, fs, needs("a.example:1", "b.example:1", "c.example:1"))
			ran(t, b, fs, nil)
			ran(t, b, fs, &tool.Needs{})
			ran(t, b, buffer, nil)
			check := func(b *known.Book) {
				t.Helper()
				has(t, b, fs, needs("a.example:1", "b.example:1"))
				has(t, b, buffer, nil)
			}
			check(b)
			if path != "" {
				check(open(t, path))
			}
			ran(t, b, buffer, &tool.Needs{}) // it declares them at last
			ran(t, b, buffer, needs("a.example:1"))
			has(t, b, buffer, &tool.Needs{})
			accept(t, b, buffer, needs("a.example:1"))
			accept(t, b, fs, nil)
			has(t, b, buffer, needs("a.example:1"))
			has(t, b, fs, nil)
			if path != "" {
				has(t, open(t, path), fs, nil)
			}
		})
	}
}

// Processes that write at the same time lose nothing of each other's, and the first of them
// decides.
func TestSharedBook(t *testing.T) {
	t.Parallel()
	path := t.TempDir()
	old := open(t, path)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			b := open(t, path)
			ran(t, b, known.Plugin{Dir: "/plugins", Name: fmt.Sprint("p", i)}, &tool.Needs{})
			ran(t, b, fs, needs(fmt.Sprintf("h%d.example:1", i)))
		})
	}
	all.Wait()
	now := open(t, path)
	first := now.Of(fs).Needs
	for i := range 8 {
		has(t, now, known.Plugin{Dir: "/plugins", Name: fmt.Sprint("p", i)}, &tool.Needs{})
	}
	if old.Of(fs).Ran {
		t.Error("it is known before it is read")
	}
	ran(t, old, fs, needs("late.example:1")) // it finds what the others wrote
	has(t, old, fs, first)
	accept(t, now, fs, needs("new.example:1"))
	has(t, old, fs, first)
	assert.NoError(t, old.Reload())
	has(t, old, fs, needs("new.example:1"))
}

// What cannot be understood is not taken for nothing, and is not written over. In a process
// that knew more, that stays known.
func TestDamagedBook(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut": `{"/plugins": {"fs"`, "another form": `{"/plugins": ["fs"]}`,
		"no such needs": `{"/plugins": {"fs": {"ran": true, "needs": {"net": ["*:443"]}}}}`,
	} {
		dir := t.TempDir()
		path, b := filepath.Join(dir, known.FileName), open(t, dir)
		ran(t, b, buffer, &tool.Needs{})
		require.NoError(t, os.WriteFile(path, []byte(text), 0o600))
		if _, err := known.Open(dir); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: it is opened: %v", name, err)
		}
		if err := b.Reload(); err == nil {
			t.Errorf("%s: it is read", name)
		}
		if err := b.Decide(func(all known.Records) { all.Accept(fs, needs("a.example:1")) }); err == nil {
			t.Errorf("%s: it is written", name)
		}
		has(t, b, buffer, &tool.Needs{})
		has(t, b, fs, needs("a.example:1")) // for this process
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s: now it is %s, %v", name, now, err)
		}
		// Once it is mended, what was not written is.
		require.NoError(t, os.WriteFile(path, []byte(`{"/other": {"x": {"ran": true}}}`), 0o600))
		assert.NoError(t, b.Reload())
		has(t, b, fs, needs("a.example:1"))
		ran(t, b, buffer, &tool.Needs{})
		again := open(t, dir)
		has(t, again, fs, needs("a.example:1"))
		has(t, again, buffer, &tool.Needs{})
		has(t, again, known.Plugin{Dir: "/other", Name: "x"}, nil)
	}
}

// Directories that are gone are forgotten if there are many, and no others; but what is disabled there stays so.
func TestManyDirectories(t *testing.T) {
	t.Parallel()
	path, there := t.TempDir(), known.Plugin{Dir: t.TempDir(), Name: "fs"}
	b := open(t, path)
	gone := func(i int) known.Plugin {
		return known.Plugin{Dir: filepath.Join(there.Dir, fmt.Sprint("gone", i)), Name: "fs"}
	}
	require.NoError(t, b.Note(func(all known.Records) {
		all.Ran(there, &tool.Needs{})
		for i := range 999 {
			all.Ran(gone(i), nil)
		}
		all.Change(gone(1), func(one *known.Record) { one.Disabled = true })
	}))
	has(t, open(t, path), gone(0), nil)
	ran(t, b, fs, &tool.Needs{})
	if one := b.Of(gone(0)); one.Ran || !b.Of(gone(1)).Disabled {
		t.Errorf("it is remembered: %+v, or what is disabled is not", one)
	}
	has(t, b, there, &tool.Needs{})
}

// A file that replaces one of the last moment may have its number, size and times: what it says counts all the same.
func TestReplacedBookIsRead(t *testing.T) {
	t.Parallel()
	dir, of := t.TempDir(), known.Plugin{Dir: "/plugins", Name: "p"}
	b := open(t, dir)
	require.NoError(t, b.Note(func(all known.Records) { all.Ran(of, needs("a.example:1")) }))
	path := filepath.Join(dir, known.FileName)
	info := require.Must(os.Stat(path))(t)
	has(t, open(t, dir), of, needs("a.example:1"))
	text := bytes.Replace(require.Must(os.ReadFile(path))(t), []byte("a.example"), []byte("b.example"), 1)
	require.NoError(t, os.WriteFile(path, text, 0o600))
	require.NoError(t, os.Chtimes(path, info.ModTime(), info.ModTime()))
	has(t, open(t, dir), of, needs("b.example:1"))
	require.NoError(t, b.Reload())
	has(t, b, of, needs("b.example:1"))
}

// A command opens several books of one file, which is read once.
func TestUnchangedBookIsReadOnce(t *testing.T) { //nolint:paralleltest // allocations are those of the process
	dir := t.TempDir()
	b := open(t, dir)
	require.NoError(t, b.Note(func(all known.Records) {
		for i := range 500 {
			all.Ran(known.Plugin{Dir: "/plugins", Name: fmt.Sprint("p", i)}, needs("a.example:1"))
		}
	}))
	path := filepath.Join(dir, known.FileName)
	text := require.Must(os.ReadFile(path))(t)
	old := time.Now().Add(-time.Hour) // what was written a moment ago may be written again and look the same
	require.NoError(t, os.Chtimes(path, old, old))
	unchanged := int(testing.AllocsPerRun(1, func() { open(t, dir) }))
	changed := int(testing.AllocsPerRun(1, func() {
		require.NoError(t, os.WriteFile(path+".new", text, 0o600))
		require.NoError(t, os.Rename(path+".new", path))
		open(t, dir)
	}))
	if unchanged*10 > changed {
		t.Errorf("%d allocations, %d if it was changed", unchanged, changed)
	}
}
