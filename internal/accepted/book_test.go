package accepted_test

import (
	"fmt"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/internal/accepted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var fs, buffer = accepted.Plugin{Dir: "/plugins", Name: "fs"}, accepted.Plugin{Dir: "/plugins", Name: "buffer"}

// needs are of a plugin that connects to hosts.
func needs(hosts ...string) *tool.Needs { return &tool.Needs{Net: hosts} }

func open(t *testing.T, path string) *accepted.Book {
	t.Helper()
	b, err := accepted.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func ran(t *testing.T, b *accepted.Book, p accepted.Plugin, n *tool.Needs) {
	t.Helper()
	if err := b.Ran(map[accepted.Plugin]*tool.Needs{p: n}); err != nil {
		t.Error(err)
	}
}

func accept(t *testing.T, b *accepted.Book, p accepted.Plugin, n *tool.Needs) {
	t.Helper()
	if err := b.Accept(map[accepted.Plugin]*tool.Needs{p: n}); err != nil {
		t.Error(err)
	}
}

// has checks what was accepted of a plugin.
func has(t *testing.T, b *accepted.Book, p accepted.Plugin, want *tool.Needs) {
	t.Helper()
	if n, known := b.Needs(p); !known || !reflect.DeepEqual(n, want) {
		t.Errorf("%s: %v, %v, want %v", p.Name, n, known, want)
	}
}

// The first needs stay, whoever reads the book and whatever the plugin declares later, until
// others are accepted.
func TestTheFirstStay(t *testing.T) {
	t.Parallel()
	for name, path := range map[string]string{"a file": filepath.Join(t.TempDir(), "toolhost", "needs.json"), "memory": ""} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := open(t, path)
			if n, known := b.Needs(fs); n != nil || known {
				t.Errorf("at first: %v, %v", n, known)
			}
			ran(t, b, fs, needs("B.example:1", "a.example:1"))
			ran(t, b, fs, needs("a.example:1", "b.example:1", "c.example:1"))
			ran(t, b, fs, nil)
			ran(t, b, fs, &tool.Needs{})
			ran(t, b, buffer, nil)
			check := func(b *accepted.Book) {
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
	path := filepath.Join(t.TempDir(), "needs.json")
	old := open(t, path)
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			b := open(t, path)
			ran(t, b, accepted.Plugin{Dir: "/plugins", Name: fmt.Sprint("p", i)}, &tool.Needs{})
			ran(t, b, fs, needs(fmt.Sprintf("h%d.example:1", i)))
		})
	}
	all.Wait()
	now := open(t, path)
	first, _ := now.Needs(fs)
	for i := range 8 {
		has(t, now, accepted.Plugin{Dir: "/plugins", Name: fmt.Sprint("p", i)}, &tool.Needs{})
	}
	if _, known := old.Needs(fs); known {
		t.Error("it is known before it is read")
	}
	ran(t, old, fs, needs("late.example:1")) // it finds what the others wrote
	has(t, old, fs, first)
	accept(t, now, fs, needs("new.example:1"))
	has(t, old, fs, first)
	if err := old.Reload(); err != nil {
		t.Error(err)
	}
	has(t, old, fs, needs("new.example:1"))
}

// What cannot be understood is not taken for nothing, and is not written over. In a process
// that knew more, that stays known.
func TestDamagedBook(t *testing.T) {
	t.Parallel()
	for name, text := range map[string]string{
		"cut": `{"/plugins": {"fs"`, "another form": `{"/plugins": ["fs"]}`, "no such needs": `{"/plugins": {"fs": {"net": ["*:443"]}}}`,
	} {
		path := filepath.Join(t.TempDir(), "needs.json")
		b := open(t, path)
		ran(t, b, buffer, &tool.Needs{})
		if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := accepted.Open(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%s: it is opened: %v", name, err)
		}
		if err := b.Reload(); err == nil {
			t.Errorf("%s: it is read", name)
		}
		if err := b.Accept(map[accepted.Plugin]*tool.Needs{fs: needs("a.example:1")}); err == nil {
			t.Errorf("%s: it is written", name)
		}
		has(t, b, buffer, &tool.Needs{})
		has(t, b, fs, needs("a.example:1")) // for this process
		if now, err := os.ReadFile(path); err != nil || string(now) != text {
			t.Errorf("%s: now it is %s, %v", name, now, err)
		}
		// Once it is mended, what was not written is.
		if err := os.WriteFile(path, []byte(`{"/other": {"x": null}}`), 0o600); err != nil {
			t.Fatal(err)
		}
		if err := b.Reload(); err != nil {
			t.Error(err)
		}
		has(t, b, fs, needs("a.example:1"))
		ran(t, b, buffer, &tool.Needs{})
		again := open(t, path)
		has(t, again, fs, needs("a.example:1"))
		has(t, again, buffer, &tool.Needs{})
		has(t, again, accepted.Plugin{Dir: "/other", Name: "x"}, nil)
	}
}

// Directories that are gone are forgotten if there are many, and no others.
func TestManyDirectories(t *testing.T) {
	t.Parallel()
	path, there := filepath.Join(t.TempDir(), "needs.json"), accepted.Plugin{Dir: t.TempDir(), Name: "fs"}
	b := open(t, path)
	many := map[accepted.Plugin]*tool.Needs{there: {}}
	for i := range 999 {
		many[accepted.Plugin{Dir: filepath.Join(there.Dir, fmt.Sprint("gone", i)), Name: "fs"}] = nil
	}
	if err := b.Ran(many); err != nil {
		t.Fatal(err)
	}
	has(t, open(t, path), accepted.Plugin{Dir: filepath.Join(there.Dir, "gone0"), Name: "fs"}, nil)
	ran(t, b, fs, &tool.Needs{})
	if n, known := b.Needs(accepted.Plugin{Dir: filepath.Join(there.Dir, "gone0"), Name: "fs"}); known {
		t.Errorf("it is remembered: %v", n)
	}
	has(t, b, there, &tool.Needs{})
}
