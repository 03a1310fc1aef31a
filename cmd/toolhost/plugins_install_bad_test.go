package main

import (
	"archive/tar"
	"bufio"
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"

	"aead.dev/minisign"
	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

func newKey(t *testing.T) (public string, private *minisign.PrivateKey) {
	t.Helper()
	pub, key, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return pub.String(), &key
}

// nothingInstalled checks that no plugin was put in place, and that no lock was made.
func (w *world) nothingInstalled() {
	w.t.Helper()
	entries, err := os.ReadDir(w.installed("plugins"))
	if err != nil && !os.IsNotExist(err) {
		w.t.Error(err)
	}
	for _, e := range entries {
		if e.Name() != ".signed" {
			w.t.Errorf("%s is in the plugin directory", e.Name())
		}
	}
	for _, lock := range []string{w.userLock(), filepath.Join(w.root, "toolhost.lock")} {
		if _, err := os.Lstat(lock); err == nil {
			w.t.Errorf("there is a lock: %s", lock)
		}
	}
}

// What the operator does not trust is not installed, whatever the answer.
func TestInstallTrust(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	public, private := newKey(t)
	_, stranger := newKey(t)
	configure := func(acme, all string) {
		w.configure(fmt.Sprintf("trust: {publishers: {acme: {keys: [%q], plugins: [greeter]%s}}%s}", public, acme, all))
	}
	w.env = append(w.env, "TOOLHOST_CONFIG="+w.config())
	ship := func(p parcel) string {
		t.Helper()
		file, _ := p.ship(t, t.TempDir())
		return file
	}
	configure("", ", required: true")
	w.bare("plugins", "install", ship(parcel{version: "1.0.100"}), "--yes").exits(5).says("trust.required", "not signed")
	w.bare("plugins", "install", ship(parcel{version: "1.0.100", key: stranger}), "--yes").exits(5).says("key of no trusted publisher")
	w.bare("plugins", "install", ship(parcel{version: "1.0.100", key: private, forged: true}), "--yes").exits(5).says("signature does not fit")
	configure(", sources: [\"oci://registry.example/*\"]", "")
	w.bare("plugins", "install", ship(parcel{version: "1.0.100", key: private}), "--yes").exits(5).says("acme may not be installed from")
	configure(", max_safety: safe", "")
	w.bare("plugins", "install", ship(parcel{version: "2.0.100", key: private}), "--yes").exits(5).says("greet.send is dangerous, above safe")
	w.nothingInstalled()

	w.bare("plugins", "install", ship(parcel{version: "1.0.100", key: private}), "--yes").exits(0).prints("signed by acme")
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
	w.bare("plugins", "install", ship(parcel{version: "1.1.100"}), "--yes").exits(5).says("not signed, and version 1.0.100 was signed by acme")
	configure("", ", required: true")
	w.bare("plugins", "install", ship(parcel{version: "1.1.100", key: private}), "--yes").exits(0)
	w.bare("call", "greet.version").exits(0).prints("1.1.100")
}

// The key of a plugin's first signed version is that of the next ones, also without publishers that are trusted.
func TestInstallKeepsTheKey(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	one, first := newKey(t)
	two, second := newKey(t)
	install := func(p parcel, more ...string) outcome {
		t.Helper()
		file, _ := p.ship(t, t.TempDir())
		return w.bare(append([]string{"plugins", "install", file, "--yes"}, more...)...)
	}
	install(parcel{version: "1.0.100", key: first}).exits(0).prints("signed with key " + one)
	install(parcel{version: "1.1.100"}).exits(5).says("not signed; version 1.0.100 was signed with key "+one, "--force")
	install(parcel{version: "1.1.100", key: second}).exits(5).says("signed with key "+two, "version 1.0.100 was signed with key "+one)
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
	install(parcel{version: "1.1.100", key: first}).exits(0)
	install(parcel{version: "1.2.100", key: second}, "--force").exits(0).prints("signed with key "+two, "version 1.1.100 was signed with key "+one)
	install(parcel{version: "1.3.100", key: first}).exits(5).says("version 1.2.100 was signed with key " + two)
	w.configure(fmt.Sprintf("trust: {publishers: {acme: {keys: [%q], plugins: [greeter]}}}", one))
	install(parcel{version: "1.3.100", key: first}, "--config", w.config()).exits(0).prints("signed by acme; version 1.2.100 was signed with key " + two)
	w.bare("call", "greet.version", "--config", w.config()).exits(0).prints("1.3.100")
}

func TestInstallRefuses(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	foreign, _ := parcel{version: "1.0.100", platforms: []string{otherPlatform}}.ship(t, t.TempDir())
	w.bare("plugins", "install", foreign, "--yes").exits(6).says("not for this machine", otherPlatform)
	future, _ := parcel{version: "1.0.100", change: func(m *pluginpackage.Manifest) { m.Protocols = []int{99} }}.ship(t, t.TempDir())
	w.bare("plugins", "install", future, "--yes").exits(6).says("greeter 1.0.100 speaks version 99 of the toolhost protocol, this host version 1")
	for name, says := range map[string]string{"../../escape": "an entry", "blobs/sha256/link": "an entry", "/etc/passwd": "an entry"} {
		var b bytes.Buffer
		out := tar.NewWriter(&b)
		require.NoError(t, out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: name, Size: 1, Mode: 0o644}))
		_, _ = out.Write([]byte("x"))
		_ = out.Close()
		file := filepath.Join(w.state, "evil.tar")
		require.NoError(t, os.WriteFile(file, b.Bytes(), 0o600))
		w.bare("plugins", "install", file, "--yes").exits(6).says(says, "evil.tar")
	}
	w.bare("plugins", "install", "oci://127.0.0.1:1/a", "--yes").exits(6).says("127.0.0.1:1", "connection refused")
	w.bare("plugins", "install", "http://example.com/a.tar", "--yes").exits(2).says("use https")
	w.bare("plugins", "install", "nowhere.tar", "--yes").exits(2).says("there is no file")
	w.bare("plugins", "install", foreign, "--json").exits(2)
	w.nothingInstalled()

	own := filepath.Join(w.state, "data", "toolhost", "plugins")
	require.NoError(t, os.MkdirAll(own, 0o700))
	copyFile(t, greeter(t, "1.0.100"), filepath.Join(own, "greeter"))
	file, _ := parcel{version: "1.0.100"}.ship(t, t.TempDir())
	w.bare("plugins", "install", file, "--yes").exits(5).says("toolhost did not install", filepath.Join(own, "greeter"))
	w.nothingInstalled()
	require.NoError(t, os.Remove(filepath.Join(own, "greeter")))
	w.bare("plugins", "install", file, "--yes").exits(0)
	twice, _ := parcel{version: "1.0.100", license: "Another text."}.ship(t, t.TempDir())
	w.bare("plugins", "install", twice, "--yes").exits(5).says("published twice", "--force")
	w.bare("plugins", "install", twice, "--yes", "--no-lock").exits(2).says("pins what runs")
	w.bare("plugins", "install", twice, "--yes", "--force").exits(0)
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
	w.bare("plugins", "install", "--help").exits(0).prints("oci://HOST/REPOSITORY")
}

// gate holds back the second half of a blob until it is opened.
type gate struct {
	open  chan struct{}
	first chan struct{} // closed when the first half of the blob was asked for
	once  sync.Once
}

// gated makes a shop that offers a version, and a gate before its file.
func gated(t *testing.T, version string) (*shop, *gate) {
	t.Helper()
	s, g := newShop(t), &gate{open: make(chan struct{}), first: make(chan struct{})}
	file, _ := parcel{version: version}.ship(t, t.TempDir())
	s.offer(t, file, version)
	text := require.Must(os.ReadFile(greeter(t, version)))(t)
	sum := digest.FromBytes(text)
	between := func(w http.ResponseWriter, r *http.Request, next http.Handler) {
		if r.Method != http.MethodGet || !strings.HasSuffix(r.URL.Path, "/blobs/"+sum.String()) {
			next.ServeHTTP(w, r)
			return
		}
		w.Header().Set("Content-Length", fmt.Sprint(len(text)))
		half := len(text) / 2
		_, _ = w.Write(text[:half])
		_ = http.NewResponseController(w).Flush()
		g.once.Do(func() { close(g.first) })
		select {
		case <-g.open:
			_, _ = w.Write(text[half:])
		case <-r.Context().Done():
		}
	}
	s.between.Store(&between)
	return s, g
}

// partial is how much was fetched of files.
func (w *world) partial() (n int64) {
	entries, _ := os.ReadDir(w.installed("downloads"))
	for _, e := range entries {
		if info, err := e.Info(); err == nil {
			n += info.Size()
		}
	}
	return n
}

// A command that is killed while it fetches has changed nothing, and the next one removes what it left.
func TestInstallKilled(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	s, g := gated(t, "1.0.100")
	cmd := w.command("plugins", "install", s.ref(), "--yes")
	require.NoError(t, cmd.Start())
	<-g.first
	w.until("something of the file is on disk", func() bool { return w.partial() > 0 })
	require.NoError(t, cmd.Process.Signal(syscall.SIGKILL))
	_ = cmd.Wait()
	w.nothingInstalled()
	close(g.open)
	w.bare("plugins", "install", s.ref(), "--yes").exits(0)
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
	if n := w.partial(); n > 0 {
		t.Errorf("%d bytes are left of what was fetched", n)
	}
}

// Of two commands at once one waits for the other, says so, and then finds the work done.
func TestTwoInstallsAtOnce(t *testing.T) {
	t.Parallel()
	w := newInstallWorld(t)
	s, g := gated(t, "1.0.100")
	first := w.command("plugins", "install", s.ref(), "--yes")
	require.NoError(t, first.Start())
	<-g.first
	second := w.command("plugins", "install", s.ref(), "--yes")
	stderr, err := second.StderrPipe()
	if err == nil {
		err = second.Start()
	}
	require.NoError(t, err)
	in := bufio.NewScanner(stderr)
	if !in.Scan() || !strings.Contains(in.Text(), fmt.Sprintf("waiting for process %d (toolhost plugins install %s)", first.Process.Pid, s.ref())) {
		t.Errorf("it says %s", in.Text())
	}
	close(g.open)
	_, _ = io.Copy(io.Discard, stderr)
	assert.NoError(t, first.Wait())
	assert.NoError(t, second.Wait())
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
}
