package trust_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/trust"
)

func check(t *testing.T, s trust.Store, path, digest string, want bool) {
	t.Helper()
	if got, err := s.Trusts(path, digest); got != want || err != nil {
		t.Errorf("%s with %s is trusted: %t, %v", path, digest, got, err)
	}
}

// A file is trusted at its place, by its content; the links of its directory do not
// matter, and a link in its own place does not make another file of it.
func TestStore(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := trust.In(filepath.Join(dir, "state"))
	file := filepath.Join(dir, "real", "toolhost.yaml")
	check(t, s, file, "one", false)
	require.NoError(t, os.Mkdir(filepath.Dir(file), 0o755))
	require.NoError(t, os.Symlink("real", filepath.Join(dir, "link")))
	require.NoError(t, os.Symlink(file, filepath.Join(dir, "toolhost.yaml")))
	require.NoError(t, s.Trust(filepath.Join(dir, "link", "toolhost.yaml"), "one"))
	check(t, s, file, "one", true)
	check(t, s, file, "two", false)
	check(t, s, filepath.Join(dir, "toolhost.yaml"), "one", false) // relative paths in it lead elsewhere
	require.NoError(t, s.Trust(file, "two"))
	check(t, s, file, "one", false)
	check(t, s, file, "two", true)
	if all, err := s.List(); len(all) != 1 || err != nil || all[0].File == "" || all[0].Since.IsZero() {
		t.Errorf("%+v, %v", all, err)
	}
	for _, want := range []bool{true, false} {
		if was, err := s.Revoke(file); was != want || err != nil {
			t.Errorf("%t, %v; want %t", was, err, want)
		}
	}
	check(t, s, file, "two", false)
	require.NoError(t, os.WriteFile(s.Path(), []byte("{"), 0o600))
	if got, err := s.Trusts(file, "two"); got || err == nil {
		t.Error("a damaged store trusts", got, err)
	}
}

// A file that is trusted is not read again while it looks the same, and is as soon as it does not.
func TestTrustedIsReadOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s, file := trust.In(filepath.Join(dir, "state")), filepath.Join(dir, "plugin")
	write := func(text string, at time.Time) {
		require.NoError(t, os.WriteFile(file, []byte(text), 0o600))
		require.NoError(t, os.Chtimes(file, at, at))
	}
	is := func(want string) {
		t.Helper()
		if got, err := s.Trusted(file); got != want || err != nil {
			t.Errorf("trusted as %q, %v; want %q", got, err, want)
		}
	}
	sum, then := trust.Sum([]byte("one")), time.Unix(1e9, 0)
	write("one", then)
	is("")
	require.NoError(t, s.Trust(file, sum))
	is(sum)
	write("two", then)
	is(sum) // whoever runs it compares
	write("two", then.Add(1))
	is("")
	write("one", then.Add(2))
	is(sum)
	write("three", then.Add(2))
	is("")
	require.NoError(t, s.Trust(file, trust.Sum([]byte("two"))))
	is("")
	require.NoError(t, os.Remove(file))
	if got, err := s.Trusted(file); got != "" || err == nil {
		t.Error("a file that is gone is trusted:", got, err)
	}
}

// A full store forgets files that are gone, and no others: what it forgot would be new.
func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := trust.In(dir)
	fill := func(name func(int) string) {
		t.Helper()
		all := make([]trust.Entry, trust.MaxEntries)
		for i := range all {
			all[i] = trust.Entry{File: name(i), SHA256: "x", Inside: true}
		}
		require.NoError(t, os.WriteFile(s.Path(), require.Must(json.Marshal(all))(t), 0o600))
	}
	here := require.Must(trust.Place(filepath.Join(dir, "here")))(t)
	require.NoError(t, os.WriteFile(here, nil, 0o600))
	fill(func(i int) string { return here + strings.Repeat("/.", i%100) }) // they all exist
	for name, err := range map[string]error{
		"one that is trusted":     s.Trust(filepath.Join(dir, "new"), "x"),
		"one that is named first": second(s.Counts(filepath.Join(dir, "new"), "x", trust.Circumstances{Inside: true, Named: true, First: true})),
	} {
		assert.ErrorContainsf(t, err, "is full", "%s", name)
	}
	fill(func(i int) string { return filepath.Join(dir, fmt.Sprint("gone-", i)) })
	require.NoError(t, s.Trust(here, "x"))
	check(t, s, here, "x", true)
	if all, err := s.List(); len(all) != 1 || err != nil {
		t.Errorf("%d entries, %v", len(all), err)
	}
}

func second[A any](_ A, err error) error { return err }

// What counts where.
func TestCounts(t *testing.T) {
	t.Parallel()
	found, named, lock := trust.Circumstances{}, trust.Circumstances{Named: true, First: true}, trust.Circumstances{Named: true}
	inside := func(c trust.Circumstances) trust.Circumstances { c.Inside = true; return c }
	type step struct {
		content string
		at      trust.Circumstances
		want    bool
	}
	stores := map[string]func() trust.Store{
		"file":   func() trust.Store { return trust.In(t.TempDir()) },
		"memory": trust.Memory,
	}
	for name, steps := range map[string][]step{
		"found":                  {{"a", found, false}, {"a", inside(found), false}, {"a", inside(lock), false}},
		"named elsewhere":        {{"a", named, true}, {"b", named, true}, {"c", lock, true}, {"c", inside(lock), false}},
		"named inside":           {{"a", inside(named), true}, {"b", inside(named), false}, {"a", inside(found), true}, {"a", found, true}},
		"the root is another":    {{"a", inside(named), true}, {"b", named, false}, {"b", lock, false}, {"a", named, true}},
		"trusted, and elsewhere": {{"t", found, true}, {"b", named, true}, {"b", inside(named), false}, {"t", inside(found), true}, {"b", named, false}},
	} {
		for kind, store := range stores {
			s, file := store(), filepath.Join(t.TempDir(), "file")
			if steps[0].content == "t" {
				require.NoError(t, s.Trust(file, "t"))
			}
			for i, one := range steps {
				if got, err := s.Counts(file, one.content, one.at); got != one.want || err != nil {
					t.Errorf("%s, %s: step %d: %t, %v", name, kind, i, got, err)
				}
			}
		}
	}
}

// Of two that name other contents first, one is first.
func TestOneIsFirst(t *testing.T) {
	t.Parallel()
	s, file := trust.In(t.TempDir()), filepath.Join(t.TempDir(), "file")
	var first atomic.Int32
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			ok, err := s.Counts(file, fmt.Sprint(i), trust.Circumstances{Inside: true, Named: true, First: true})
			assert.NoError(t, err)
			if ok {
				first.Add(1)
			}
		})
	}
	all.Wait()
	if n := first.Load(); n != 1 {
		t.Errorf("%d of them count", n)
	}
}
