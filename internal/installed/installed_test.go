package installed

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func opened(t *testing.T, dir string) *Dir {
	t.Helper()
	d := require.Must(Open(dir))(t)
	require.NoError(t, d.Lock(t.Context(), "a test", func(string) {}))
	t.Cleanup(func() { _ = d.Close() })
	return d
}

// prepare fetches a version with this content, so to speak, and makes it ready.
func prepare(t *testing.T, d *Dir, version, content string) (*Prepared, error) {
	t.Helper()
	sum := sha256.Sum256([]byte(content))
	m := pluginpackage.Manifest{
		SchemaVersion: 1, Name: "sample", Version: version, Description: "Greets.", License: "Apache-2.0", Protocols: []int{1},
		Platforms: map[string]pluginpackage.Blob{"linux/amd64": {Digest: digest.FromString(content), Size: int64(len(content))}},
	}
	text := require.Must(json.Marshal(m))(t)
	downloads, _ := d.Downloads()
	if err := downloads.WriteFile("file", []byte(content), 0o600); err != nil {
		return nil, err
	}
	return d.Prepare(Origin{
		Name: "sample", Version: version, Source: "x", Package: "p" + version, Platform: "linux/amd64", SHA256: hex.EncodeToString(sum[:]),
	}, pluginpackage.Signed{Manifest: m, Text: text, Signature: []byte("signature of " + content)}, "file")
}

func put(t *testing.T, d *Dir, version, content string) {
	t.Helper()
	p, err := prepare(t, d, version, content)
	if err == nil {
		err = p.Put()
	}
	require.NoError(t, err)
	serves(t, d, content)
}

// serves checks that the file in the plugin directory has this content, and its manifest is there.
func serves(t *testing.T, d *Dir, content string) {
	t.Helper()
	got, err := os.ReadFile(filepath.Join(d.PluginDir(), "sample"))
	if err != nil || string(got) != content {
		t.Errorf("%q is served (%v), want %q", got, err, content)
	}
	signature, err := os.ReadFile(filepath.Join(d.PluginDir(), ".signed", digest.FromString(content).Encoded(), signatureName))
	if err != nil || string(signature) != "signature of "+content {
		t.Errorf("its signature is %q, %v", signature, err)
	}
}

// tree lists everything in the directory, with sizes.
func tree(t *testing.T, d *Dir) string {
	t.Helper()
	var out []string
	err := filepath.WalkDir(d.marked.Path(), func(path string, e fs.DirEntry, err error) error {
		if err != nil || e.IsDir() || strings.HasSuffix(e.Name(), lockName) {
			return err
		}
		info, err := e.Info()
		if err == nil {
			out = append(out, fmt.Sprintf("%s %d", path, info.Size()))
		}
		return err
	})
	assert.NoError(t, err)
	return strings.Join(out, "\n")
}

func versions(t *testing.T, d *Dir) (all []string, current string) {
	t.Helper()
	p := require.Must(d.Plugin("sample"))(t)
	for _, v := range p.Versions {
		all = append(all, v.Version)
	}
	slices.Sort(all)
	v, _ := p.Current()
	return all, v.Version
}

// Versions are put in place and kept, the last three; one that is kept can be put in place again.
func TestVersions(t *testing.T) {
	t.Parallel()
	d := opened(t, filepath.Join(t.TempDir(), Name))
	for _, v := range []string{"1.0.0", "1.1.0", "1.2.0", "1.3.0"} {
		put(t, d, v, "content of "+v)
	}
	all, current := versions(t, d)
	if !slices.Equal(all, []string{"1.1.0", "1.2.0", "1.3.0"}) || current != "1.3.0" {
		t.Errorf("there are %v, and %s is served", all, current)
	}
	p, err := d.Plugin("sample")
	require.NoError(t, err)
	v, _ := p.Find("1.1.0")
	kept, err := d.PrepareKept(v)
	if err == nil {
		err = kept.Put()
	}
	require.NoError(t, err)
	serves(t, d, "content of 1.1.0")
	put(t, d, "1.4.0", "content of 1.4.0")
	if all, _ := versions(t, d); !slices.Equal(all, []string{"1.1.0", "1.3.0", "1.4.0"}) {
		t.Errorf("there are %v: what was put in place last is kept", all)
	}
	put(t, d, "1.4.0", "other content of 1.4.0")
	for _, name := range []string{"../plugins", ".", "", "..", "none", "sample/1.4.0"} {
		before := tree(t, d)
		if err := d.Remove(name); err != nil || tree(t, d) != before {
			t.Errorf("removing %q: %v", name, err)
		}
	}
	if err := d.Remove("sample"); err != nil || strings.Contains(tree(t, d), "sample") {
		t.Errorf("%v: %s is left", err, tree(t, d))
	}
}

// What is kept and was damaged is not put in place, and a file that someone else put there is not
// removed.
func TestChangedFiles(t *testing.T) {
	t.Parallel()
	d := opened(t, filepath.Join(t.TempDir(), Name))
	put(t, d, "1.0.0", "one")
	put(t, d, "1.1.0", "two")
	p := require.Must(d.Plugin("sample"))(t)
	v, _ := p.Find("1.0.0")
	at := d.at(contentDir, v.SHA256)
	require.NoError(t, os.WriteFile(at, []byte("bad"), 0o600))
	if _, err := d.PrepareKept(v); !errors.Is(err, marked.ErrDamaged) {
		t.Errorf("got %v", err)
	}
	serves(t, d, "two")
	served := filepath.Join(d.PluginDir(), "sample")
	require.NoError(t, os.Remove(served))
	require.NoError(t, os.WriteFile(served, []byte("mine"), 0o600))
	assert.ErrorContains(t, d.Remove("sample"), "was not put there")
}

// What is discarded leaves everything as it was.
func TestDiscard(t *testing.T) {
	t.Parallel()
	d := opened(t, filepath.Join(t.TempDir(), Name))
	for _, before := range []string{"", "one"} {
		if before != "" {
			put(t, d, "1.0.0", before)
		}
		was := tree(t, d)
		for _, version := range []string{"1.0.0", "1.1.0"} {
			p, err := prepare(t, d, version, "two")
			if err == nil {
				err = p.Discard()
			}
			if now := tree(t, d); err != nil || now != was {
				t.Errorf("%v\nbefore:\n%s\nafter:\n%s", err, was, now)
			}
		}
	}
}

// One process changes the directory at a time. The other is told whom it waits for.
func TestTwoAtOnce(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), Name)
	first := opened(t, at)
	second, err := Open(at)
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	err = second.Lock(ctx, "the second", func(string) { cancel() })
	if !errors.Is(err, safefile.ErrLocked) || !errors.Is(err, context.Canceled) {
		t.Errorf("got %v", err)
	}
	told, done := make(chan string, 1), make(chan error)
	go func() { done <- second.Lock(t.Context(), "the second", func(holder string) { told <- holder }) }()
	assert.Containsf(t, <-told, fmt.Sprintf("process %d (a test)", os.Getpid()), "it waits for")
	assert.NoError(t, errors.Join(first.Close(), <-done, second.Close()))
}

// Whoever comes next removes what was not finished, and nothing else.
func TestLeftovers(t *testing.T) {
	t.Parallel()
	at := filepath.Join(t.TempDir(), Name)
	d := opened(t, at)
	put(t, d, "1.0.0", "one")
	was := tree(t, d)
	if _, err := prepare(t, d, "1.1.0", "two"); err != nil { // and then it is ended
		t.Fatal(err)
	}
	require.NoError(t, d.marked.Root().MkdirAll(signedDir+"/"+marked.Temporary+"x/y", 0o700))
	require.NoError(t, d.Close())
	d = opened(t, at)
	serves(t, d, "one")
	if now := tree(t, d); now != was {
		t.Errorf("it has now:\n%s\nand had:\n%s", now, was)
	}
	put(t, d, "1.1.0", "two")
}

// A directory that toolhost did not make is left alone.
func TestForeign(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	require.NoError(t, os.WriteFile(filepath.Join(dir, "mine"), nil, 0o600))
	if _, err := Open(dir); !errors.Is(err, marked.ErrForeign) {
		t.Errorf("got %v", err)
	}
	if _, err := OpenExisting(filepath.Join(dir, "none")); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}
