package host_test

import (
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const (
	needsA   = ` {"net":["a.example:443"]}`
	needsAB  = ` {"net":["b.example:443","a.example:443"]}`
	needsABC = ` {"net":["b.example:443","a.example:443","c.example:443"]}`
	moreB    = "net: b.example:443 is new"
)

// wants checks what a plugin wants that was not accepted; empty: nothing.
func wants(t *testing.T, h *host.Host, want string) {
	t.Helper()
	s := pluginOf(h, "versioned")
	switch w := s.WantsMore; {
	case w == nil && want != "", w != nil && w.Text != want:
		t.Errorf("it wants %+v, want %q: %+v", w, want, s)
	case w != nil && (w.Accept != "Host.AcceptNeeds for versioned" || w.Changes.String() != w.Text):
		t.Errorf("it is accepted by %+v", w)
	}
}

// deploy puts a version in the plugin's place, and syncs.
func deploy(t *testing.T, h *host.Host, dir, version string) {
	t.Helper()
	plugintest.Deploy(t, dir, "versioned", version)
	require.NoError(t, h.Sync(t.Context(), dir))
}

// The needs with which a plugin ran first are a ceiling for its upgrades, in later hosts too,
// whether they start it or remember it, until the operator accepts others. A running process
// makes room for one that has them, without losing a call.
func TestTheFirstNeedsAreACeiling(t *testing.T) {
	t.Parallel()
	for name, cached := range map[string]bool{"started": false, "remembered": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir, root, path := t.TempDir(), t.TempDir(), filepath.Join(t.TempDir(), "toolhost")
			opts := []host.Option{host.WithState(path), host.WithRoot(root)}
			if cached {
				opts = append(opts, host.WithCache(t.TempDir()))
			}
			later := func() *host.Host {
				t.Helper()
				h := newHost(t, opts...)
				require.Must(h.Load(t.Context(), dir))(t)
				return h
			}
			plugintest.Deploy(t, dir, "versioned", "1"+needsA)
			h := later()
			if s := pluginOf(h, "versioned"); s.Needs.String() != "read any; write any; net a.example:443; exec any" || s.Undeclared || s.WantsMore != nil {
				t.Errorf("at first: %+v", s)
			}
			deploy(t, h, dir, "2"+needsAB)
			if got := version(t, h); got != "2" {
				t.Errorf("version %s answers", got)
			}
			wants(t, h, moreB)
			h = later()
			wants(t, h, moreB)
			link := filepath.Join(t.TempDir(), "link") // another way to the same directory
			require.NoError(t, os.Symlink(dir, link))
			linked := newHost(t, opts...)
			require.Must(linked.Load(t.Context(), link))(t)
			wants(t, linked, moreB)
			deploy(t, h, dir, "3") // declares nothing any more
			wants(t, h, "it does not declare any more what it needs, which was: read any; write any; net a.example:443; exec any")
			if s := pluginOf(h, "versioned"); s.Needs != nil || !s.Undeclared {
				t.Errorf("undeclared: %+v", s)
			}
			deploy(t, h, dir, "4 {}") // less is given at once, and is not less forever
			wants(t, h, "")
			deploy(t, h, dir, "5"+needsAB)
			wants(t, h, moreB)

			waited := make(chan error, 1)
			go func() {
				_, err := h.Execute(t.Context(), tool.Call{Name: "versioned.wait", Arguments: []byte(`{"file":"go"}`)})
				waited <- err
			}()
			require.Eventually(t, "it waits", func() bool { return pluginOf(h, "versioned").Calls > 0 })
			before := pluginOf(h, "versioned")
			require.NoError(t, h.AcceptNeeds(t.Context(), "versioned", before.Needs))
			wants(t, h, "")
			if s := pluginOf(h, "versioned"); s.PID == before.PID || s.State != plugin.Ready {
				t.Errorf("the process with less goes on: %+v", s)
			}
			require.NoError(t, os.WriteFile(filepath.Join(root, "go"), nil, 0o600))
			if err := <-waited; err != nil {
				t.Errorf("the call that was under way: %v", err)
			}
			same := pluginOf(h, "versioned").PID
			if err := h.AcceptNeeds(t.Context(), "versioned", before.Needs); err != nil || pluginOf(h, "versioned").PID != same {
				t.Errorf("the same again: %v, %+v", err, pluginOf(h, "versioned"))
			}
			h = later()
			wants(t, h, "")
			deploy(t, h, dir, "6"+needsABC)
			wants(t, h, "net: c.example:443 is new")

			// A file that goes and comes back is not a new plugin.
			require.NoError(t, os.Remove(filepath.Join(dir, "versioned")))
			require.NoError(t, h.Sync(t.Context(), dir))
			deploy(t, h, dir, "7"+needsABC)
			wants(t, h, "net: c.example:443 is new")
		})
	}
}

// A plugin that ran undeclared is held to what it declares at last. Without a file, all that
// holds for one host.
func TestNeedsThatAreDeclaredLater(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	if s := pluginOf(h, "versioned"); !s.Undeclared || s.WantsMore != nil {
		t.Errorf("%+v", s)
	}
	deploy(t, h, dir, "2"+needsA)
	wants(t, h, "")
	deploy(t, h, dir, "3"+needsAB)
	wants(t, h, moreB)
	other := newHost(t)
	require.Must(other.Load(t.Context(), dir))(t)
	wants(t, other, "")
}

// What the operator decides needs no acceptance: lines of the sandbox, and no sandbox at all.
func TestNeedsThatTheOperatorDecides(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		sandbox plugin.Sandbox
		want    string
	}{
		"another line": {plugin.Sandbox{Level: plugin.BestEffort, Read: []string{}, CPU: 1}, "net: b.example:443 is new; memory: not said, was 1 GiB"},
		"one of both":  {plugin.Sandbox{Level: plugin.BestEffort, Memory: 1 << 30}, moreB},
		"both":         {plugin.Sandbox{Level: plugin.BestEffort, Net: []string{}, Memory: 1 << 30}, ""},
		"none":         {plugin.Sandbox{Level: plugin.NoSandbox}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plugintest.Deploy(t, dir, "versioned", `1 {"net":["a.example:443"],"memory":1073741824}`)
			h := newHost(t, host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Sandbox = c.sandbox }))
			require.Must(h.Load(t.Context(), dir))(t)
			deploy(t, h, dir, "2"+needsAB)
			wants(t, h, c.want)
		})
	}
	undeclared := need.Diff{{Was: "nothing", Larger: true}}
	all := plugin.Sandbox{Read: []string{}, Write: []string{}, Net: []string{}, Exec: []string{}}
	if got := pluginrun.Undecided(all, undeclared); got != nil {
		t.Errorf("all is decided, and %v is not", got)
	}
	all.Exec = nil
	if got := pluginrun.Undecided(all, undeclared); !reflect.DeepEqual(got, undeclared) {
		t.Errorf("exec is not decided: %v", got)
	}
}

// That a plugin wants more is told once, in the log and in what is kept of the plugin.
func TestWantsMoreIsToldOnce(t *testing.T) {
	t.Parallel()
	var log logbook
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1"+needsA)
	h := newHost(t, host.WithLogger(log.logger()))
	require.Must(h.Load(t.Context(), dir))(t)
	deploy(t, h, dir, "2"+needsAB)
	for range 3 {
		require.NoError(t, h.RestartPlugin(t.Context(), "versioned"))
		version(t, h)
		require.NoError(t, h.Sync(t.Context(), dir))
	}
	const line = "plugin wants more than was accepted, and runs without"
	if n := log.count(line); n != 1 || log.count(moreB) != 1 || log.count(journal.WantsMore) != 1 {
		t.Errorf("it is told %d times: %q", n, log.kept)
	}
	deploy(t, h, dir, "3"+needsABC)
	if n := log.count(line); n != 2 || log.count(moreB+"; net: c.example:443 is new") != 1 {
		t.Errorf("more is told %d times: %q", n, log.kept)
	}
	kept, _ := h.Journal("versioned").Since(0)
	told := 0
	for _, l := range kept {
		if l.Event != "" && strings.Contains(l.Text, line) {
			told++
		}
	}
	assert.Equalf(t, told, 2, "the journal has it %d times: %+v", told, kept)
}

// count is how often a text was logged.
func (l *logbook) count(text string) (n int) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, said := range l.kept {
		if said == text {
			n++
		}
	}
	return n
}

// What another process has accepted counts from the next sync on, or the next start.
func TestNeedsAcceptedElsewhere(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1"+needsA)
	h := newHost(t, host.WithState(path))
	require.Must(h.Load(t.Context(), dir))(t)
	deploy(t, h, dir, "2"+needsAB)
	wants(t, h, moreB)
	accept := func() {
		t.Helper()
		book, err := known.Open(path)
		if err == nil {
			err = book.Decide(func(all known.Records) {
				all.Accept(known.At(filepath.Join(dir, "versioned"), "versioned"), pluginOf(h, "versioned").Needs)
			})
		}
		require.NoError(t, err)
	}
	accept()
	before := pluginOf(h, "versioned").PID
	require.NoError(t, h.SyncPlugin(t.Context(), "another", dir))
	if err := h.Refresh(t.Context(), dir); err != nil { // without the operator's word
		t.Fatal(err)
	}
	wants(t, h, moreB)
	require.NoError(t, h.SyncPlugin(t.Context(), "versioned", dir))
	wants(t, h, "")
	if s := pluginOf(h, "versioned"); s.PID == before || s.PID == 0 {
		t.Errorf("the process with less goes on: %+v", s)
	}
	deploy(t, h, dir, "3"+needsABC)
	wants(t, h, "net: c.example:443 is new")
	accept()
	require.NoError(t, h.RestartPlugin(t.Context(), "versioned"))
	version(t, h)
	require.Eventually(t, "it wants nothing", func() bool { return pluginOf(h, "versioned").WantsMore == nil })
}

// A lock that has needs is the ceiling in place of the record, and refuses a plugin that
// declares more; one that has none leaves it to the record.
func TestPinsOfNeeds(t *testing.T) {
	t.Parallel()
	dir, path, record := t.TempDir(), filepath.Join(t.TempDir(), "toolhost.lock"), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1"+needsA)
	first := newHost(t, host.WithState(record))
	require.Must(first.Load(t.Context(), dir))(t)
	plugintest.Deploy(t, dir, "versioned", "2"+needsAB)
	lock := pinAll(t, dir, path)
	if got := lock.Plugins["versioned"].Needs; got != `{"exec":["any"],"net":["a.example:443","b.example:443"],"read":["any"],"write":["any"]}` {
		t.Errorf("the lock has %s", got)
	}
	with := func(needs string) (*host.Host, error) {
		e := lock.Plugins["versioned"]
		e.Needs = needs
		path := filepath.Join(t.TempDir(), "toolhost.lock")
		require.NoError(t, (&lockfile.Lock{Plugins: map[string]lockfile.Entry{"versioned": e}}).Write(path))
		h := newHost(t, host.WithState(record), host.WithLocks(host.Lock{File: path}))
		_, err := h.Load(t.Context(), dir)
		return h, err
	}
	for needs, want := range map[string]string{
		"": moreB, lock.Plugins["versioned"].Needs: "", lockfile.NeedsText(nil): "",
		`{"exec":["any"],"net":["any"],"read":["any"],"write":["any"]}`: "",
	} {
		h, err := with(needs)
		if err != nil {
			t.Errorf("with %q pinned: %v", needs, err)
		}
		wants(t, h, want)
	}
	for needs, want := range map[string]string{
		`{"exec":["any"],"net":["a.example:443"],"read":["any"],"write":["any"]}`: moreB,
		`{"exec":["any"],"read":["any"],"write":["any"]}`:                         "net: a.example:443 is new; net: b.example:443 is new",
	} {
		h, err := with(needs)
		if err == nil || !strings.Contains(err.Error(), "the needs differ from what is pinned: "+want) || !strings.Contains(err.Error(), "write the lock again") {
			t.Errorf("with %s pinned: %v", needs, err)
		}
		if s := pluginOf(h, "versioned"); s.State != plugin.Refused || h.Len() != 0 {
			t.Errorf("with %s pinned: %+v", needs, s)
		}
	}
	// What is recorded for another lock is held to the one before.
	recorder := &host.Recorder{Pinned: &lockfile.Lock{Plugins: map[string]lockfile.Entry{"versioned": {Needs: `{"exec":["any"],"net":["a.example:443"],"read":["any"],"write":["any"]}`}}}}
	fresh := t.TempDir()
	h := newHost(t, host.WithRecorder(recorder), host.WithState(fresh))
	require.Must(h.Load(t.Context(), dir))(t)
	wants(t, h, moreB)
	if recorder.Lock().Plugins["versioned"].Needs != lock.Plugins["versioned"].Needs {
		t.Errorf("recorded is %+v", recorder.Lock().Plugins)
	}
	h = newHost(t, host.WithState(fresh))
	require.Must(h.Load(t.Context(), dir))(t)
	wants(t, h, moreB) // it ran with less than it declared
}

// What is wrong is refused, and changes nothing; a record that cannot be understood is not
// taken for a missing one.
func TestAcceptNeedsRefuses(t *testing.T) {
	t.Parallel()
	dir, path := t.TempDir(), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1"+needsA)
	h := newHost(t, host.WithState(path), host.WithRollback(false)) // which would write while the test does
	require.Must(h.Load(t.Context(), dir))(t)
	require.Must(h.Attach(t.Context(), "attached", require.Must(tool.NewSet())(t)))(t)
	for name, c := range map[string]struct {
		needs *tool.Needs
		want  tool.Code
	}{
		"absent": {nil, tool.CodeNotFound}, "attached": {nil, tool.CodeNotFound},
		"versioned": {&tool.Needs{Net: []string{"*:443"}}, tool.CodeInvalidDefinition},
	} {
		if err := h.AcceptNeeds(t.Context(), name, c.needs); tool.CodeOf(err) != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
	deploy(t, h, dir, "2"+needsAB)
	wants(t, h, moreB)
	require.NoError(t, os.WriteFile(filepath.Join(path, known.FileName), []byte("{"), 0o600))
	if _, err := host.New(host.WithState(path)); err == nil || !strings.Contains(err.Error(), path) {
		t.Errorf("New: %v", err)
	}
	before := pluginOf(h, "versioned")
	if err := h.AcceptNeeds(t.Context(), "versioned", before.Needs); tool.CodeOf(err) != tool.CodeInternal || !strings.Contains(err.Error(), "in this process alone") {
		t.Errorf("AcceptNeeds: %v", err)
	}
	wants(t, h, "")
	if s := pluginOf(h, "versioned"); s.PID == before.PID {
		t.Errorf("the process with less goes on: %+v", s)
	}
}

// A plugin whose needs cannot be read is refused, and so is one that declares what the proxy would not
// take; the operator learns which entry.
func TestMalformedNeedsAreRefused(t *testing.T) {
	t.Parallel()
	for _, entry := range []string{"*.com:443", "*.github.io:443"} {
		t.Run(entry, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plugintest.Deploy(t, dir, "versioned", `1-raw {"net":["a.example:443","`+entry+`"]}`)
			h := newHost(t)
			n, err := h.Load(t.Context(), dir)
			want := `net "` + entry + `": it is too wide`
			if n != 0 || err == nil || !strings.Contains(err.Error(), want) {
				t.Errorf("%d tools, %v", n, err)
			}
			if s := pluginOf(h, "versioned"); s.State == plugin.Ready || !strings.Contains(s.Reason, want) {
				t.Errorf("%+v", s)
			}
		})
	}
}
