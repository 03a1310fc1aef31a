package languages

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"sync"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/registrytest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// TestShipping is the way of a plugin from an empty directory to those who use it: its author begins
// it, builds, verifies, packs, signs and pushes it to a registry; an operator who has only toolhost
// and the author's public key installs it, calls it through the daemon, upgrades it while it is
// called, and goes back. A copy that was changed on the way is refused at each stage.
func TestShipping(t *testing.T) {
	t.Parallel()
	inEach(t, func(t *testing.T, language string, p project) {
		r := newRegistry(t)
		a := newAuthor(t, p, language)
		verified(t, a.run(t, "verify"))
		a.releases("0.1.0", r.ref)

		o := newOperator(t, a)
		o.refusesChanged(a, r)
		o.toolhost("plugins", "install", r.ref, "--yes").exits(0)
		daemon := o.serve()
		o.toolhost("call", name+".add", "--arg", "text=first").exits(0)

		a.changes("0.1.0", "0.2.0")
		a.releases("0.2.0", r.ref)
		o.toolhost("plugins", "upgrade", "--check").exits(1).prints("0.2.0")
		o.upgradesUnderLoad()
		o.toolhost("plugins", "rollback", name).exits(0)
		o.runs("0.1.0")
		o.toolhost("call", name+".add", "--arg", "text=last").exits(0)
		daemon.stop()
		o.refusesChangedInstallation()
	})
}

// ociRegistry is a registry in this process.
type ociRegistry struct {
	ref    string // of the plugin
	liar   string // the same through a proxy that changes what it passes on
	server *httptest.Server
}

func newRegistry(t *testing.T) *ociRegistry {
	t.Helper()
	server := httptest.NewServer(registrytest.New(t))
	t.Cleanup(server.Close)
	to := require.Must(url.Parse(server.URL))(t)
	liar := httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(to) },
		ModifyResponse: func(r *http.Response) error {
			if r.Request.Method == http.MethodGet && strings.Contains(r.Request.URL.Path, "/blobs/") {
				r.Body = &changing{ReadCloser: r.Body}
			}
			return nil
		},
	})
	t.Cleanup(liar.Close)
	const repository = "/tools/" + name
	return &ociRegistry{"oci://" + to.Host + repository, "oci://" + strings.TrimPrefix(liar.URL, "http://") + repository, server}
}

// changing changes one bit of what is read.
type changing struct {
	io.ReadCloser
	changed bool
}

func (c *changing) Read(p []byte) (int, error) {
	n, err := c.ReadCloser.Read(p)
	if n > 0 && !c.changed {
		p[n/2] ^= 1
		c.changed = true
	}
	return n, err
}

// user is a person who uses the command, in a directory, with files of their own.
type user struct {
	t   *testing.T
	cwd string
	env []string
}

func newUser(t *testing.T, dir string) *user {
	t.Helper()
	home := t.TempDir()
	tmp, err := os.MkdirTemp("/tmp", "th-") // a short path: the host puts sockets there
	require.NoError(t, err)
	t.Cleanup(func() { _ = os.RemoveAll(tmp) })
	u := &user{t: t, cwd: dir}
	for _, kv := range os.Environ() {
		if !strings.HasPrefix(kv, "TOOLHOST_") && !strings.HasPrefix(kv, "XDG_") {
			u.env = append(u.env, kv)
		}
	}
	u.env = append(u.env, "TMPDIR="+tmp, "XDG_RUNTIME_DIR="+tmp, "XDG_DATA_HOME="+filepath.Join(home, "data"), "XDG_STATE_HOME="+filepath.Join(home, "state"),
		"XDG_CONFIG_HOME="+filepath.Join(home, "config"), "TOOLHOST_CACHE="+filepath.Join(home, "cache"))
	return u
}

func (u *user) command(ctx context.Context, args ...string) *exec.Cmd {
	u.t.Helper()
	cmd := exec.CommandContext(ctx, command(u.t), args...)
	cmd.Dir, cmd.Env = u.cwd, u.env
	return cmd
}

// outcome is what a command printed, and its exit status.
type outcome struct {
	t              *testing.T
	args           string
	stdout, stderr bytes.Buffer
	status         int
}

func (u *user) toolhost(args ...string) *outcome {
	u.t.Helper()
	out := &outcome{t: u.t, args: strings.Join(args, " ")}
	cmd := u.command(u.t.Context(), args...)
	cmd.Stdout, cmd.Stderr = &out.stdout, &out.stderr
	var exit *exec.ExitError
	if err := cmd.Run(); err != nil && !errors.As(err, &exit) {
		u.t.Fatal(err)
	}
	out.status = cmd.ProcessState.ExitCode()
	return out
}

func (o *outcome) exits(status int) *outcome {
	o.t.Helper()
	if o.status != status {
		o.t.Fatalf("toolhost %s: exit status %d, want %d\n%s\n%s", o.args, o.status, status, &o.stdout, &o.stderr)
	}
	return o
}

func (o *outcome) prints(text string) *outcome {
	o.t.Helper()
	if !strings.Contains(o.stdout.String(), text) {
		o.t.Fatalf("toolhost %s does not print %q:\n%s\n%s", o.args, text, &o.stdout, &o.stderr)
	}
	return o
}

func (o *outcome) says(text string) *outcome {
	o.t.Helper()
	if !strings.Contains(o.stderr.String(), text) {
		o.t.Errorf("toolhost %s does not say %q:\n%s\n%s", o.args, text, &o.stdout, &o.stderr)
	}
	return o
}

// fails is for a command that must not do what it was asked for, and says why.
func (o *outcome) fails(why string) {
	o.t.Helper()
	if text := o.stdout.String() + o.stderr.String(); o.status == 0 || !strings.Contains(text, why) {
		o.t.Errorf("toolhost %s: exit status %d, without the words %q:\n%s", o.args, o.status, why, text)
	}
}

// author writes and publishes the plugin.
type author struct {
	*user
	project
	language string
	key      string // the public one
}

func newAuthor(t *testing.T, p project, language string) *author {
	t.Helper()
	a := &author{newUser(t, p.dir), p, language, ""}
	if language == "go" {
		// The other platforms take minutes to compile, and are the same to a package.
		platform := runtime.GOOS + "/" + runtime.GOARCH
		a.edits("plugin.yaml", func(text string) string {
			before, _, _ := strings.Cut(text, "binaries:")
			return before + "binaries:\n  " + platform + ": dist/" + name + "-" + strings.ReplaceAll(platform, "/", "-") + "\n"
		})
		a.make = append(a.make, "PLATFORMS="+platform)
	}
	a.toolhost("dev", "keygen", "--no-password", "author.key").exits(0)
	key := require.Must(os.ReadFile(filepath.Join(p.dir, "author.pub")))(t)
	lines := strings.Split(strings.TrimSpace(string(key)), "\n")
	a.key = lines[len(lines)-1]
	return a
}

// edits changes a file of the project.
func (a *author) edits(file string, change func(string) string) {
	a.t.Helper()
	path := filepath.Join(a.dir, file)
	text, err := os.ReadFile(path)
	if err == nil {
		changed := change(string(text))
		if changed == string(text) {
			a.t.Fatalf("%s has not changed", file)
		}
		err = os.WriteFile(path, []byte(changed), 0o600) //nolint:gosec // in this test's directory
	}
	if err != nil {
		a.t.Fatal(err)
	}
}

// changes gives the plugin another version.
func (a *author) changes(from, to string) {
	a.t.Helper()
	source := map[string]string{"go": "main.go", "python": "plugin.py", "node": "plugin.mjs"}[a.language]
	a.edits(source, func(text string) string { return strings.ReplaceAll(text, from, to) })
}

// releases builds, packs, signs and pushes a version.
func (a *author) releases(version, ref string) {
	a.t.Helper()
	a.run(a.t, "build", "pack")
	a.toolhost("dev", "pack", "--sign", "author.key", "-o", a.packed(version)).exits(0)
	a.toolhost("dev", "pack", a.packed(version), "--push", ref).exits(0)
}

func (a *author) packed(version string) string {
	return filepath.Join(a.dir, name+"-"+version+".tar")
}

// operator runs the plugin.
type operator struct{ *user }

func newOperator(t *testing.T, a *author) *operator {
	t.Helper()
	o := &operator{newUser(t, t.TempDir())}
	o.writes("toolhost.yaml", `
callers: {cli: {grants: ["fs:write"]}}
trust:
  required: true
  publishers:
    the-author:
      keys: [`+a.key+`]
      plugins: [`+name+`]
      max_safety: cautious
      permissions: ["fs:write"]
      needs: {write: [workspace], exec: [python3, node]}
`)
	o.toolhost("trust", "--yes").exits(0)
	return o
}

func (o *operator) writes(file, text string) {
	o.t.Helper()
	if err := os.WriteFile(filepath.Join(o.cwd, file), []byte(text), 0o600); err != nil {
		o.t.Fatal(err)
	}
}

// refusesChanged tries what an attacker could have changed between the author's editor and here.
func (o *operator) refusesChanged(a *author, r *ociRegistry) {
	o.t.Helper()
	binary, err := os.ReadFile(filepath.Join(a.dir, "bin", name))
	if err != nil {
		o.t.Fatal(err)
	}
	half := filepath.Join(o.t.TempDir(), name)
	if err := os.WriteFile(half, binary[:len(binary)/2], 0o755); err != nil { //nolint:gosec // a program
		o.t.Fatal(err)
	}
	o.toolhost("dev", "verify", half).fails("handshake")

	packed, err := os.ReadFile(a.packed("0.1.0"))
	if err != nil {
		o.t.Fatal(err)
	}
	at := bytes.Index(packed, binary[len(binary)/2:len(binary)/2+64])
	if at < 0 {
		o.t.Fatal("the package does not have the binary as it is")
	}
	changed := bytes.Clone(packed)
	changed[at] ^= 1
	o.writes("changed.tar", string(changed))
	o.toolhost("plugins", "install", "changed.tar", "--yes").fails("sha256")

	o.toolhost("plugins", "install", filepath.Join(a.dir, "dist", name+"-0.1.0.tar"), "--yes").fails("not signed")

	a.toolhost("dev", "keygen", "--no-password", "other.key").exits(0)
	other := filepath.Join(a.dir, "other.tar")
	a.toolhost("dev", "pack", "--sign", "other.key", "-o", other).exits(0)
	o.toolhost("plugins", "install", other, "--yes").fails("trust")

	o.toolhost("plugins", "install", r.liar, "--yes").fails("sha256")
	if text := o.toolhost("tools", "--json").stdout.String(); strings.Contains(text, name+".add") {
		o.t.Errorf("a changed package was installed:\n%s", text)
	}
}

// refusesChangedInstallation changes what was installed, and the lock.
func (o *operator) refusesChangedInstallation() {
	o.t.Helper()
	found, _ := filepath.Glob(filepath.Join(o.data(), "toolhost", "installed", "plugins", name+"*"))
	if len(found) != 1 {
		o.t.Fatalf("installed: %v", found)
	}
	binary, err := os.ReadFile(found[0])
	if err != nil {
		o.t.Fatal(err)
	}
	binary[len(binary)/2] ^= 1
	if err := errors.Join(os.Remove(found[0]), os.WriteFile(found[0], binary, 0o755)); err != nil { //nolint:gosec // a program
		o.t.Fatal(err)
	}
	// The host has kept a copy of what is pinned.
	o.toolhost("call", name+".add", "--arg", "text=kept", "--grant", "fs:write").says("is not what toolhost.lock pins")
	o.toolhost("plugins", "install").exits(0)
	o.toolhost("call", name+".add", "--arg", "text=again", "--grant", "fs:write").exits(0)

	file := filepath.Join(o.data(), "toolhost", "installed.lock")
	lock, err := os.ReadFile(file)
	if err != nil {
		o.t.Fatal(err)
	}
	_, sum, ok := bytes.Cut(lock, []byte("definitions sha256:"))
	if !ok {
		o.t.Fatalf("the lock is\n%s", lock)
	}
	other := strings.Replace(string(lock), string(sum[:64]), strings.Repeat("0", 64), 1)
	if err := os.WriteFile(file, []byte(other), 0o600); err != nil {
		o.t.Fatal(err)
	}
	o.toolhost("call", name+".add", "--arg", "text=never", "--grant", "fs:write").fails("pinned")
}

func (o *operator) data() string {
	for _, kv := range o.env {
		if dir, ok := strings.CutPrefix(kv, "XDG_DATA_HOME="); ok {
			return dir
		}
	}
	return ""
}

// runs waits for nothing: by the time a command has ended, the daemon serves what it put in place.
func (o *operator) runs(version string) {
	o.t.Helper()
	var list struct {
		Plugins []struct{ Name, Version, State string }
	}
	out := o.toolhost("plugins", "--json").exits(0)
	if err := json.Unmarshal(out.stdout.Bytes(), &list); err != nil {
		o.t.Fatal(err)
	}
	if len(list.Plugins) != 1 || list.Plugins[0].Version != version {
		o.t.Fatalf("want version %s:\n%s", version, &out.stdout)
	}
}

// upgradesUnderLoad upgrades while callers call without a pause.
func (o *operator) upgradesUnderLoad() {
	o.t.Helper()
	const callers, before = 3, 6
	stop := make(chan struct{})
	answered := make(chan *outcome, 1<<10)
	var wg sync.WaitGroup
	for range callers {
		wg.Go(func() {
			for {
				answered <- o.toolhost("call", name+".add", "--arg", "text=load")
				select {
				case <-stop:
					return
				default:
				}
			}
		})
	}
	for range before {
		(<-answered).exits(0)
	}
	upgrade := o.toolhost("plugins", "upgrade", name, "--yes")
	for range before {
		(<-answered).exits(0)
	}
	close(stop)
	wg.Wait()
	close(answered)
	calls := 2 * before
	for out := range answered {
		out.exits(0)
		calls++
	}
	upgrade.exits(0)
	o.runs("0.2.0")
	text, err := os.ReadFile(filepath.Join(o.cwd, "NOTES.md"))
	if got := strings.Count(string(text), " load\n"); err != nil || got != calls {
		o.t.Errorf("%d calls wrote %d notes, %v", calls, got, err)
	}
}

// running is a daemon.
type running struct {
	t   *testing.T
	cmd *exec.Cmd
	end chan error
}

// serve starts a daemon and waits until it is ready.
func (o *operator) serve() *running {
	o.t.Helper()
	r, w, err := os.Pipe()
	if err != nil {
		o.t.Fatal(err)
	}
	d := &running{o.t, o.command(context.WithoutCancel(o.t.Context()), "serve"), make(chan error, 1)}
	d.cmd.Stderr = w
	if err := errors.Join(d.cmd.Start(), w.Close()); err != nil {
		o.t.Fatal(err)
	}
	o.t.Cleanup(d.stop)
	ready := make(chan string, 1)
	go func() {
		var said bytes.Buffer
		buf := make([]byte, 4<<10)
		for {
			n, err := r.Read(buf)
			said.Write(buf[:n])
			if i := strings.Index(said.String(), "toolhost: ready: "); (i >= 0 || err != nil) && ready != nil {
				ready <- said.String()
				ready = nil
			}
			if err != nil {
				d.end <- d.cmd.Wait()
				return
			}
		}
	}()
	if said := <-ready; !strings.Contains(said, "toolhost: ready: ") {
		o.t.Fatalf("toolhost serve:\n%s", said)
	}
	return d
}

// stop ends the daemon, which has to end well.
func (d *running) stop() {
	if d.end == nil {
		return
	}
	_ = d.cmd.Process.Signal(syscall.SIGTERM)
	if err := <-d.end; err != nil {
		d.t.Errorf("toolhost serve: %v", err)
	}
	d.end = nil
}
