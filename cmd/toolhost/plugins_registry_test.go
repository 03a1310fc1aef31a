package main

import (
	"context"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"oras.land/oras-go/v2/registry/remote"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/registrytest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// shop is a registry in this process, at a loopback address.
type shop struct {
	*httptest.Server
	between atomic.Pointer[func(w http.ResponseWriter, r *http.Request, next http.Handler)] // nil: nothing is
}

func newShop(t *testing.T) *shop {
	t.Helper()
	s := &shop{}
	next := registrytest.New(t)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if between := s.between.Load(); between != nil {
			(*between)(w, r, next)
			return
		}
		next.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

// host is the registry's host and port.
func (s *shop) host() string { return strings.TrimPrefix(s.URL, "http://") }

// ref is the REF of the repository.
func (s *shop) ref() string { return "oci://" + s.host() + "/tools/greeter" }

// offer pushes a package file under a tag.
func (s *shop) offer(t *testing.T, file, tag string) {
	t.Helper()
	repository := require.Must(remote.NewRepository(s.host() + "/tools/greeter"))(t)
	repository.PlainHTTP = true
	from := require.Must(pluginpackage.OpenTar(file))(t)
	defer func() { _ = from.Close() }()
	p := require.Must(pluginpackage.Read(t.Context(), from, from.Root()))(t)
	all := p.Descriptors()
	for _, d := range append(all[1:len(all):len(all)], all[0]) {
		body, err := p.Open(t.Context(), d)
		if err == nil {
			err = repository.Push(t.Context(), d, body)
		}
		require.NoError(t, err)
	}
	require.NoError(t, repository.Tag(t.Context(), all[0], tag))
}

// serveInstalled starts a daemon that serves what is installed.
func (w *world) serveInstalled() *serving {
	w.t.Helper()
	s := &serving{w: w, cmd: w.command("serve"), lines: make(chan string, 10000)}
	s.start()
	s.await("toolhost: ready: ")
	return s
}

// load calls a tool of the daemon until stop is called, which returns how many calls there were. A
// pause after each leaves the machine to what is tested.
func (w *world) load(call control.Call) (stop func() int64) {
	w.t.Helper()
	c, ctx := w.client(), context.WithoutCancel(w.t.Context())
	var calls atomic.Int64
	end, done := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(done)
		for pause := time.NewTicker(20 * time.Millisecond); ; <-pause.C {
			select {
			case <-end:
				pause.Stop()
				return
			default:
			}
			answer := c.Call(ctx, call, nil)
			if answer.Err != nil || !answer.Outcome.Success {
				w.t.Errorf("a call failed: %v %+v", answer.Err, answer.Outcome)
				return
			}
			calls.Add(1)
		}
	}()
	return func() int64 {
		close(end)
		<-done
		return calls.Load()
	}
}

// An operator's plugin over time: installed from a registry, upgraded under load, refused if it is
// older or wants more, rolled back, brought to a second machine and to one without a network, and
// removed.
func TestInstallFromRegistry(t *testing.T) {
	t.Parallel()
	w, s := newInstallWorld(t), newShop(t)
	offer := func(version string) {
		t.Helper()
		file, _ := parcel{version: version}.ship(t, t.TempDir())
		s.offer(t, file, version)
	}
	offer("1.0.100")
	w.serveInstalled()
	var done installation
	w.bare("plugins", "install", s.ref(), "--yes", "--json").exits(0).json(&done)
	equal(t, "what the daemon does", done.Served == "ready" || done.Served == "idle", true)
	w.bare("call", "greet.version").exits(0).prints("1.0.100")
	w.bare("plugins", "upgrade", "--check").exits(0).prints("greeter", "1.0.100")

	offer("1.1.100")
	w.bare("plugins", "upgrade", "--check").exits(1).prints("1.1.100")
	w.bare("plugins", "upgrade", "--check", "--json").exits(1).prints(`"outdated": true`)
	stop := w.load(control.Call{Name: "greet.version", Arguments: []byte("{}")})
	w.bare("plugins", "upgrade", "--all", "--yes").exits(0).prints("installed greeter 1.1.100 in place of 1.0.100", "the daemon serves it")
	w.bare("call", "greet.version").exits(0).prints("1.1.100")
	if n := stop(); n == 0 {
		t.Error("there was no load")
	}
	w.bare("plugins", "upgrade", "greeter", "--yes").exits(0).prints("greeter 1.1.100 is installed")

	offer("2.0.100")
	w.bare("plugins", "upgrade", "greeter").exits(5).says("greet.send (dangerous, net)  <- new", "new needs:", "greetings.example:443")
	w.bare("plugins", "upgrade", "greeter", "--yes").exits(0)
	w.bare("call", "greet.send", "--grant", "net").exits(5)
	w.bare("plugins", "install", s.ref()+":1.0.100", "--yes").exits(5).says("older than 2.0.100", "--downgrade")
	w.bare("plugins", "install", s.ref(), "--version", "3.0.0", "--yes").exits(6).says("has no version 3.0.0", "2.0.100")
	w.bare("plugins", "rollback", "greeter", "9.9.9").exits(2).says("1.0.100", "1.1.100")
	w.bare("plugins", "rollback", "greeter").exits(0).prints("installed greeter 1.1.100 in place of 2.0.100")
	w.bare("call", "greet.version").exits(0).prints("1.1.100")
	w.bare("plugins", "lock", "--check").exits(0)
	w.bare("plugins", "install", "--check").exits(0).prints("greeter 1.1.100: none")

	second := newInstallWorld(t)
	copyFile(t, w.userLock(), filepath.Join(second.root, "toolhost.lock"))
	second.bare("plugins", "install").exits(5).says("toolhost trust") // anyone may have put it there
	second.bare("plugins", "upgrade", "--all", "--yes").exits(5).says("toolhost trust")
	second.env = append(second.env, "TOOLHOST_CONFIG="+filepath.Join(second.root, "toolhost.yaml"))
	second.write("toolhost.yaml", "lock: required\n")
	second.bare("plugins", "install", "--check").exits(5).says("toolhost trust")
	second.bare("trust", "--yes").exits(0)
	second.bare("plugins", "install", "--check").exits(1).prints("greeter 1.1.100: install")
	second.bare("plugins", "install").exits(0)
	second.bare("call", "greet.version").exits(0).prints("1.1.100")
	second.bare("plugins", "install", "--json").exits(0).prints(`"action": "none"`)

	mirror := filepath.Join(w.state, "mirror")
	w.bare("plugins", "install", "--download", mirror).exits(0).prints("greeter 1.1.100")
	before := contents(t, mirror)
	w.bare("plugins", "install", "--download", mirror).exits(0)
	other := filepath.Join(w.state, "other")
	w.bare("plugins", "install", "--download", other).exits(0)
	if after := contents(t, other); after != before || contents(t, mirror) != before {
		t.Error("two mirrors of the same packages differ")
	}
	s.Close()
	third := newInstallWorld(t)
	third.env = append(third.env, "TOOLHOST_CONFIG="+filepath.Join(third.root, "toolhost.yaml"))
	third.write("toolhost.yaml", "lock: required\n")
	copyFile(t, w.userLock(), filepath.Join(third.root, "toolhost.lock"))
	third.bare("trust", "--yes").exits(0)
	third.bare("plugins", "install").exits(6).says("connection refused")
	third.bare("plugins", "install", "--mirror", mirror).exits(0)
	third.bare("call", "greet.version").exits(0).prints("1.1.100")
	web := httptest.NewServer(http.FileServer(http.Dir(mirror)))
	defer web.Close()
	third.bare("plugins", "remove", "greeter").exits(0).prints("removed greeter")
	third.bare("plugins", "remove", "greeter").exits(2).says("has not installed")
	third.bare("call", "greet.version").exits(3)
	third.bare("plugins", "install", web.URL+"/", "--yes").exits(0).prints("installed greeter 1.1.100")
	third.bare("call", "greet.version").exits(0).prints("1.1.100")

	w.bare("plugins", "remove", "greeter").exits(0)
	w.bare("call", "greet.version").exits(3)
	w.bare("plugins", "lock", "--check").exits(0)
}

func copyFile(t *testing.T, from, to string) {
	t.Helper()
	text, err := os.ReadFile(from)
	if err == nil {
		err = os.WriteFile(to, text, 0o600)
	}
	require.NoError(t, err)
}

// contents is all that is in the files of a directory.
func contents(t *testing.T, dir string) string {
	t.Helper()
	entries := require.Must(os.ReadDir(dir))(t)
	var b strings.Builder
	for _, e := range entries {
		text := require.Must(os.ReadFile(filepath.Join(dir, e.Name())))(t)
		b.WriteString(e.Name() + "\n")
		_, _ = b.Write(text)
	}
	return b.String()
}
