package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"aead.dev/minisign"
	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/require"
)

// parcel is a package that an author has made of the greeter.
type parcel struct {
	version   string
	platforms []string             // none: this one, and another
	key       *minisign.PrivateKey // nil: it is not signed
	forged    bool                 // the signature is of another manifest
	license   string
	change    func(*pluginpackage.Manifest)
}

const otherPlatform = "plan9/mips"

// ship makes the package file, and returns its path and its digest.
func (p parcel) ship(t *testing.T, dir string) (string, digest.Digest) {
	t.Helper()
	at := greeter(t, p.version)
	h := require.Must(host.New(host.WithRoot(t.TempDir())))(t)
	defer func() { _ = h.Close(context.WithoutCancel(t.Context())) }()
	require.Must(h.Load(t.Context(), filepath.Dir(at)))(t)
	status := h.Plugins()[0]
	in := pluginpackage.Input{Manifest: pluginpackage.Manifest{
		Name: "greeter", Version: status.Version, Description: "Greets.", License: "Apache-2.0", Protocols: []int{1}, Needs: status.Needs,
	}, Files: map[string]string{}}
	if p.license != "" {
		in.License = []byte(p.license)
	}
	for _, one := range h.Tools(host.Filter{}) {
		in.Manifest.Definitions = append(in.Manifest.Definitions, one.Claimed)
	}
	if p.platforms == nil {
		p.platforms = []string{runtime.GOOS + "/" + runtime.GOARCH, otherPlatform}
	}
	for _, platform := range p.platforms {
		in.Files[platform] = at
	}
	if p.change != nil {
		p.change(&in.Manifest)
	}
	if p.key != nil {
		in.Sign = func(s pluginpackage.Signed) ([]byte, error) {
			if p.forged {
				s.Text = append([]byte(" "), s.Text...)
			}
			return pluginpackage.Sign(*p.key, s), nil
		}
	}
	made := require.Must(pluginpackage.Build(t.Context(), in))(t)
	file := filepath.Join(dir, "greeter-"+p.version+".tar")
	f, err := os.Create(file)
	if err == nil {
		err = made.WriteTar(t.Context(), f)
	}
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	return file, made.Digest
}

// greeter makes the binary of a version, alone in a directory.
func greeter(t *testing.T, version string) string {
	t.Helper()
	text := require.Must(os.ReadFile(filepath.Join(built.dir, "greeter")))(t)
	if !bytes.Contains(text, []byte("7.7.777")) || len(version) != len("7.7.777") {
		t.Fatalf("the greeter cannot get the version %s", version)
	}
	at := filepath.Join(t.TempDir(), "greeter")
	if err := os.WriteFile(at, bytes.ReplaceAll(text, []byte("7.7.777"), []byte(version)), 0o755); err != nil { //nolint:gosec // a program
		t.Fatal(err)
	}
	return at
}

// newInstallWorld makes a world in which toolhost installs to a directory of the user's, and serves
// from there.
func newInstallWorld(t *testing.T) *world {
	t.Helper()
	return newWorld(t)
}

func (w *world) installed(elements ...string) string {
	return filepath.Join(append([]string{w.state, "data", "toolhost", "installed"}, elements...)...)
}

// userLock is the lock of what is installed.
func (w *world) userLock() string { return w.installed() + ".lock" }

// From a package file to a tool that answers: it is shown, asked about, put in place, pinned for all
// platforms, and served.
func TestInstallFile(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	file, sum := parcel{version: "1.0.100"}.ship(t, w.state)
	w.bare("plugins", "install", file).exits(5).says("greeter 1.0.100", "not signed", "greet.version (safe)", "needs:", "add --yes")
	if _, err := os.Lstat(w.installed("plugins", "greeter")); err == nil {
		t.Error("it was installed without a yes")
	}
	var done installation
	w.bare("plugins", "install", file, "--yes", "--json").exits(0).json(&done)
	equal(t, "the package", done.Package, sum.String())
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
	lock := require.Must(lockfile.Read(w.userLock()))(t)
	equal(t, "the platforms in the lock", len(lock.Files("greeter")), 2)
	equal(t, "the source in the lock", lock.Plugins["greeter"].Source, file+"@"+sum.String())
	w.bare("plugins", "lock", "--check").exits(0)
	w.bare("plugins", "lock").exits(2).says("this would pin all plugins of this user, for all commands, in "+w.userLock()+": greeter", "--user")
	w.bare("plugins", "lock", "--user").exits(0)
	w.bare("plugins", "lock").exits(0) // it pins all
	w.run("plugins", "lock", "--user").exits(2).says("--user has no effect here")
	again, err := lockfile.Read(w.userLock())
	if err != nil || again.Plugins["greeter"].Source == "" {
		t.Error(err)
	}
	w.bare("plugins", "install", file, "--yes").exits(0).prints("is installed")
	for _, left := range []string{"downloads", "plugins", "plugins/.signed", "content"} {
		entries, err := os.ReadDir(w.installed(left))
		if err != nil || len(entries) > 2 || left == "downloads" && len(entries) > 0 {
			t.Errorf("%s has %v, %v", left, entries, err)
		}
		for _, e := range entries {
			if strings.HasPrefix(e.Name(), ".new-") {
				t.Errorf("%s is left in %s", e.Name(), left)
			}
		}
	}
}
