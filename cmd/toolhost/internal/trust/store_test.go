package trust_test

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/test/require"
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

func TestStoreIsBounded(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	s := trust.In(dir)
	keep := filepath.Join(dir, "kept")
	require.NoError(t, os.WriteFile(keep, nil, 0o600))
	require.NoError(t, s.Trust(keep, "x"))
	for i := range trust.MaxEntries {
		require.NoError(t, s.Trust(filepath.Join(dir, fmt.Sprint("gone-", i)), "x"))
	}
	check(t, s, keep, "x", true) // of those that are gone none was needed
	if all, err := s.List(); len(all) > trust.MaxEntries || err != nil {
		t.Errorf("%d entries, %v", len(all), err)
	}
}
