package main

import (
	"archive/tar"
	"bytes"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// author is the project of a greeter, and a web server with what it packed.
type author struct {
	w    *world
	dir  string
	more []string // flags of dev pack
	web  *httptest.Server
}

func (w *world) author(more ...string) *author {
	w.t.Helper()
	a := &author{w: w, dir: w.t.TempDir(), more: more}
	yaml := fmt.Sprintf("description: Greets.\nlicense: Apache-2.0\nbinaries:\n  %s/%s: greeter\n", runtime.GOOS, runtime.GOARCH)
	require.NoError(w.t, os.WriteFile(filepath.Join(a.dir, "plugin.yaml"), []byte(yaml), 0o600))
	a.web = httptest.NewServer(http.StripPrefix("/plugins", http.FileServer(http.Dir(filepath.Join(a.dir, "dist")))))
	w.t.Cleanup(a.web.Close)
	return a
}

// url is that of the directory with the packages, without a slash at its end.
func (a *author) url() string { return a.web.URL + "/plugins" }

func (a *author) pack(args ...string) outcome {
	a.w.t.Helper()
	return a.w.bare(append(append([]string{"dev", "pack", a.dir}, a.more...), args...)...)
}

// release packs a version, and returns the file.
func (a *author) release(version string) string {
	a.w.t.Helper()
	text := require.Must(os.ReadFile(greeter(a.w.t, version)))(a.w.t)
	require.NoError(a.w.t, os.WriteFile(filepath.Join(a.dir, "greeter"), text, 0o700)) //nolint:gosec // a program
	a.pack().exits(0).prints("greeter " + version)
	return filepath.Join(a.dir, "dist", "greeter-"+version+".tar")
}

// rewrite changes the index.
func (a *author) rewrite(change func(*pluginsource.Index)) {
	a.w.t.Helper()
	dist := filepath.Join(a.dir, "dist")
	index := require.Must(pluginsource.ReadIndex(dist))(a.w.t)
	change(&index)
	require.NoError(a.w.t, index.Write(dist))
}

// A directory that dev pack wrote is one to install from and to follow, by any web server; a single file is not, and
// upgrade says so.
func TestInstallFromIndex(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	a := w.author()
	a.release("0.9.100") // which declares no needs
	a.release("1.0.100")
	w.bare("plugins", "install", a.url(), "--yes").exits(0).prints("greeter 1.0.100 is new")
	w.bare("plugins", "upgrade", "--check").exits(0).prints("1.0.100")
	a.release("1.1.100")
	w.bare("plugins", "upgrade", "--check").exits(1).prints("1.1.100")
	w.bare("plugins", "upgrade", "greeter", "--yes").exits(0).prints("installed greeter 1.1.100 in place of 1.0.100")
	w.bare("call", "greet.version").exits(0).prints("1.1.100")
	w.bare("plugins", "rollback", "greeter", "--yes").exits(0).prints("installed greeter 1.0.100")
	w.bare("plugins", "install", a.url()+"/#greeter@0.9.100", "--downgrade", "--yes").exits(0).prints("installed greeter 0.9.100")
	w.bare("plugins", "upgrade", "--check").exits(1).prints("1.1.100")
	w.bare("plugins", "install", a.url()+"#greeter@9.9.9", "--yes").exits(6).says("has no version 9.9.9")
	w.bare("plugins", "install", a.url()+"/other", "--yes").exits(6).says("/plugins/other/index.json")
	for range 2 { // the same version again is one entry
		a.release("1.2.100")
	}
	index := require.Must(pluginsource.ReadIndex(filepath.Join(a.dir, "dist")))(t)
	equal(t, "packages in the index", len(index.Plugins["greeter"]), 4)

	second := newInstallWorld(t)
	second.env = append(second.env, "TOOLHOST_CONFIG="+filepath.Join(second.root, "toolhost.yaml"))
	second.write("toolhost.yaml", "lock: required\n")
	copyFile(t, w.userLock(), filepath.Join(second.root, "toolhost.lock"))
	second.bare("trust", "--yes").exits(0)
	second.bare("plugins", "install", "--mirror", a.url()).exits(0)
	second.bare("call", "greet.version").exits(0).prints("0.9.100")

	third := newInstallWorld(t)
	third.bare("plugins", "install", a.url()+"/greeter-1.0.100.tar", "--yes").exits(0)
	for _, args := range [][]string{{"upgrade", "greeter"}, {"upgrade", "--check"}} {
		third.bare(append([]string{"plugins"}, args...)...).exits(0).prints("1.0.100").
			says("came from one file, "+a.url()+"/greeter-1.0.100.tar", "others are not looked for", "index.json")
	}
}

// What a publisher says of a version that is out is signed as its packages are, refuses or warns, and is told to
// those who have it.
func TestNotices(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	key := filepath.Join(t.TempDir(), "acme.key")
	w.bare("dev", "keygen", key, "--no-password").exits(0)
	a := w.author("--sign", key)
	a.release("1.0.100")
	a.release("1.1.100")
	url := a.url() + "/"
	w.bare("plugins", "install", url+"#greeter@1.0.100", "--yes").exits(0)
	w.bare("plugins", "upgrade", "--all", "--yes").exits(0).prints("installed greeter 1.1.100")
	w.serveInstalled()
	w.bare("status").exits(0)

	a.pack("--yank", "1.1.100").exits(2).says("has no text", "1.1.100=TEXT")
	a.pack("--yank", "3.0.0=bad").exits(1).says("has no version 3.0.0")
	w.bare("dev", "pack", a.dir, "--yank", "1.1.100=bad").exits(2).says("is signed with key", "--sign")
	a.pack("--yank", "1.1.100=it deletes files", "--deprecate", "1.0.100=use 1.2.100", "--advisory", "*=read our page").exits(0)
	all := []string{"greeter 1.1.100: yanked: it deletes files", "greeter 1.1.100: advisory: read our page"}
	w.bare("plugins", "install", "--check").exits(0) // nothing was asked
	w.bare("plugins", "upgrade", "--check").exits(1).prints(all...).says("2 notices")
	w.bare("plugins", "upgrade", "greeter").exits(0).says(all...)
	w.bare("plugins", "install", "--check").exits(1).prints("yanked: it deletes files")
	w.bare("plugins", "install", url+"#greeter@1.1.100", "--check").exits(1).prints("yanked: it deletes files")
	w.bare("status").exits(1).prints("problem: notices: " + all[0])
	w.bare("plugins", "rollback", "greeter").exits(0).says("greeter 1.0.100: deprecated: use 1.2.100")

	second := newInstallWorld(t)
	second.bare("plugins", "install", url+"#greeter@1.1.100", "--yes").exits(5).says("greeter 1.1.100 was not installed: its publisher has withdrawn it: it deletes files", "--force")
	second.bare("plugins", "install", url, "--yes").exits(0).prints("notice:     deprecated: use 1.2.100", "installed greeter 1.0.100")
	second.bare("plugins", "install", url+"#greeter@1.1.100", "--yes", "--force").exits(0)
	mirror := filepath.Join(w.state, "mirror")
	second.bare("plugins", "install", "--download", mirror).exits(0)
	third := newInstallWorld(t)
	third.bare("plugins", "install", mirror, "--yes").exits(6).says("has no release; it has: 1.1.100")

	whole := require.Must(os.ReadFile(filepath.Join(a.dir, "dist", "index.json")))(t)
	for _, text := range []string{"use 1.2.100", "it deletes files"} {
		a.rewrite(func(x *pluginsource.Index) {
			one := x.Notices["greeter"]
			one.Text = strings.Replace(one.Text, text, "", 1)
			x.Notices["greeter"] = one
		})
		third.bare("plugins", "install", url, "--yes").exits(5).says("notices that are not signed as greeter")
		w.bare("plugins", "upgrade", "--check").exits(5).says("notices that are not signed as greeter 1.0.100")
		a.pack("--advisory", "1.0.100=new").exits(5).says("not signed with this key") // and does not sign it
	}
	a.rewrite(func(x *pluginsource.Index) { x.Notices = nil }) // who has seen them knows them
	w.bare("plugins", "upgrade", "--all", "--yes").exits(5).says("has withdrawn it")
	require.NoError(t, os.WriteFile(filepath.Join(a.dir, "dist", "index.json"), whole, 0o600))
	a.pack("--deprecate", "1.0.100=", "--advisory", "*=").exits(0)
	w.bare("plugins", "upgrade", "--check").exits(0)
	w.bare("status").exits(0)
	a.rewrite(func(x *pluginsource.Index) { x.Plugins["greeter"] = x.Plugins["greeter"][1:] })
	w.bare("plugins", "upgrade", "--check").exits(1).prints("greeter 1.0.100: it is not there any more")
	w.bare("status").exits(1).prints("greeter 1.0.100: it is not there any more")
}

// In a registry, notices have a tag of their own, and the packages' digests stay; a tag that is gone is told.
func TestNoticesInRegistry(t *testing.T) {
	t.Parallel()
	w, s := newInstallWorld(t), newShop(t)
	w.env = append(w.env, "DOCKER_CONFIG="+t.TempDir())
	a := w.author()
	for _, version := range []string{"1.0.100", "1.1.100"} {
		w.bare("dev", "pack", a.release(version), "--push", s.ref()).exits(0)
	}
	w.bare("plugins", "install", s.ref(), "--yes").exits(0).prints("installed greeter 1.1.100")
	w.bare("dev", "pack", "--push", s.ref(), "--yank", "1.1.100=it deletes files").exits(0)
	w.bare("dev", "pack", "--push", s.ref(), "--advisory", "1.0.100=CVE-2026-1").exits(0)
	w.bare("plugins", "upgrade", "--check").exits(1).prints("greeter 1.1.100: yanked: it deletes files", "1.0.100")
	w.bare("plugins", "install", s.ref()+":1.1.100", "--yes", "--check").exits(1).prints("yanked")
	second := newInstallWorld(t)
	second.bare("plugins", "install", s.ref(), "--yes").exits(0).prints("advisory: CVE-2026-1", "installed greeter 1.0.100")

	gone := func(rw http.ResponseWriter, r *http.Request, next http.Handler) {
		if strings.HasSuffix(r.URL.Path, "/tags/list") {
			_, _ = io.WriteString(rw, `{"name":"tools/greeter","tags":["1.0.100","toolhost-notices"]}`)
			return
		}
		next.ServeHTTP(rw, r)
	}
	s.between.Store(&gone)
	w.bare("plugins", "upgrade", "--check", "--json").exits(1).prints(`"it is not there any more where it came from"`)
}

// A bit that flips in any entry of a package is noticed before anything is installed.
func TestFlippedBit(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	file := w.author().release("1.0.100")
	text := require.Must(os.ReadFile(file))(t)
	in, entries := bytes.NewReader(text), 0
	for r := tar.NewReader(in); ; entries++ {
		h, err := r.Next()
		if err == io.EOF {
			break
		}
		require.NoError(t, err)
		at := int64(len(text)-in.Len()) + h.Size/2
		bad := bytes.Clone(text)
		bad[at] ^= 1
		require.NoError(t, os.WriteFile(file, bad, 0o600))
		w.bare("plugins", "install", file, "--yes").exits(6)
		w.bare("dev", "inspect", file).exits(1)
	}
	equal(t, "entries", entries >= 6, true)
	w.nothingInstalled()
}

// An installed file that was edited is not what the lock pins, and that is said also where signatures are required.
func TestEditedWhereSignaturesAreRequired(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	public, private := newKey(t)
	w.configure(fmt.Sprintf("trust: {required: true, publishers: {acme: {keys: [%q], plugins: [greeter]}}}", public))
	w.env = append(w.env, "TOOLHOST_CONFIG="+w.config())
	file, _ := parcel{version: "1.0.100", key: private}.ship(t, t.TempDir())
	w.bare("plugins", "install", file, "--yes").exits(0)
	at := w.installed("plugins", "greeter")
	text := bytes.ReplaceAll(require.Must(os.ReadFile(at))(t), []byte("1.0.100"), []byte("1.0.666"))
	require.NoError(t, os.Remove(at))
	require.NoError(t, os.WriteFile(at, text, 0o700)) //nolint:gosec // a program
	out := w.bare("call", "greet.version").exits(6).says("is not what", "pins", "sha256:"+digest.FromBytes(text).Encoded())
	assert.NotContainsf(t, out.stderr, "remove trust.required", "it advises to go without signatures")
}
