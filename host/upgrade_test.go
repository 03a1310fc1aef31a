package host_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// pluginOf is what an operator sees of a plugin; zero: there is none.
func pluginOf(h *host.Host, name string) plugin.Status {
	for _, s := range h.Plugins() {
		if s.Name == name {
			return s
		}
	}
	return plugin.Status{}
}

func version(t *testing.T, h *host.Host) string {
	t.Helper()
	res := require.Must(h.Execute(t.Context(), tool.Call{Name: "versioned.count"}))(t)
	return res.Text()
}

// A plugin is upgraded again and again while many call a tool of it that must not run
// twice: every call is answered, and ran once, by the plugin's own ledger.
func TestUpgradeLosesNoCall(t *testing.T) {
	t.Parallel()
	upgrades, callers := 25, 32
	if testing.Short() {
		upgrades, callers = 5, 8 // with the race detector, the others take 25 s of processors
	}
	for _, carrier := range []plugin.Carrier{plugin.Unary, plugin.Stream, plugin.Socket} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			dir, root := t.TempDir(), t.TempDir()
			plugintest.Deploy(t, dir, "versioned", "0")
			h := newHost(t, host.WithRoot(root), host.WithDefaults(func(all *plugin.Settings) {
				all.Carrier = carrier
				all.Limits.MaxRetries = 0
			}))
			require.Must(h.Load(t.Context(), dir))(t)
			var calls, failed atomic.Int64
			var all sync.WaitGroup
			ctx, stop := context.WithCancel(t.Context())
			defer stop()
			for range callers {
				all.Go(func() {
					for ctx.Err() == nil {
						calls.Add(1)
						if _, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"}); err != nil && failed.Add(1) < 5 {
							t.Error(err)
						}
					}
				})
			}
			for i := 1; i <= upgrades; i++ {
				plugintest.Deploy(t, dir, "versioned", fmt.Sprint(i))
				assert.NoError(t, h.Sync(t.Context(), dir))
				if got := version(t, h); got != fmt.Sprint(i) {
					t.Errorf("version %s answers after upgrade %d", got, i)
				}
				calls.Add(1)
			}
			stop()
			all.Wait()
			ledger, err := os.ReadFile(filepath.Join(root, "ledger"))
			if n := strings.Count(string(ledger), "versioned.count"); err != nil || int64(n) != calls.Load() || failed.Load() > 0 {
				t.Errorf("%d calls, %d failed, %d in the ledger (%v)", calls.Load(), failed.Load(), n, err)
			}
			t.Logf("%d calls in %d upgrades", calls.Load(), upgrades)
		})
	}
}

// A call that is under way when its plugin is exchanged ends where it began; what was
// on its way there runs in the new one.
func TestUpgradeDrains(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "old")
	h := newHost(t, host.WithRoot(root))
	require.Must(h.Load(t.Context(), dir))(t)
	before, _ := h.Get("versioned.count")
	answer := make(chan string, 1)
	go func() {
		res, err := h.Execute(t.Context(), tool.Call{Name: "versioned.wait", Arguments: []byte(`{"file":"go"}`)})
		answer <- fmt.Sprint(res.Text(), err)
	}()
	require.Eventually(t, "it waits", func() bool { _, err := os.Stat(filepath.Join(root, "ledger")); return err == nil })
	old := pluginOf(h, "versioned").PID
	plugintest.Deploy(t, dir, "versioned", "new-more")
	require.NoError(t, h.Sync(t.Context(), dir))
	if s := pluginOf(h, "versioned"); s.PID == old || s.Version != "new-more" || s.Tools != 3 {
		t.Errorf("after the upgrade: %+v", s)
	}
	require.Eventually(t, "a call that was on its way goes to the new one", func() bool {
		res := require.Must(before.Handler(t.Context(), tool.Call{Name: "versioned.count"}))(t)
		return res.Text() == "new-more"
	})
	require.NoError(t, os.WriteFile(filepath.Join(root, "go"), nil, 0o600))
	assert.Equalf(t, <-answer, "old<nil>", "the call under way")
	require.Eventually(t, "the old process is gone", func() bool { _, err := os.Stat(fmt.Sprintf("/proc/%d", old)); return os.IsNotExist(err) })
}

// A new version that cannot be used leaves the old one serving, says so, and is
// tried again when the operator asks.
func TestUpgradeThatDoesNotStart(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	pid := pluginOf(h, "versioned").PID
	plugintest.Deploy(t, dir, "versioned", "2-broken")
	err := h.Sync(t.Context(), dir)
	if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "was not upgraded") || !strings.Contains(err.Error(), "exit status 3") {
		t.Errorf("got %v", err)
	}
	if s := pluginOf(h, "versioned"); s.PID != pid || s.State != plugin.Ready || !strings.Contains(s.Upgrade, "exit status 3") || version(t, h) != "1" {
		t.Errorf("the old one: %+v", s)
	}
	if err := h.Sync(t.Context(), dir); err == nil {
		t.Error("who asks is not told again")
	}
	plugintest.Deploy(t, dir, "versioned", "3")
	assert.NoError(t, h.Sync(t.Context(), dir))
	if s := pluginOf(h, "versioned"); s.Upgrade != "" || version(t, h) != "3" {
		t.Errorf("the next: %+v", s)
	}
}

// Settings are exchanged as binaries are, a plugin can be switched off and on, and what
// a plugin says no to changes nothing.
func TestSyncSettings(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	set := func(change func(*plugin.Settings)) error {
		require.NoError(t, h.Reconfigure(host.WithPluginSettings(func(_ string, s *plugin.Settings) { change(s) })))
		return h.Sync(t.Context(), dir)
	}
	first := pluginOf(h, "versioned").PID
	if err := set(func(s *plugin.Settings) { s.Env = []string{"SOME=thing"} }); err != nil || pluginOf(h, "versioned").PID == first {
		t.Errorf("another environment: %v, %+v", err, pluginOf(h, "versioned"))
	}
	err := set(func(s *plugin.Settings) { s.Config = []byte(`{"a":1}`) })
	if err == nil || !strings.Contains(err.Error(), "takes no configuration") || version(t, h) != "1" {
		t.Errorf("a configuration that it does not take: %v", err)
	}
	if err := set(func(s *plugin.Settings) { s.Enabled = false }); err != nil || h.Len() != 0 || pluginOf(h, "versioned").State != plugin.Disabled {
		t.Errorf("disabled: %v, %+v", err, pluginOf(h, "versioned"))
	}
	if _, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"}); tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("a disabled plugin's tool: %v", err)
	}
	if err := set(func(*plugin.Settings) {}); err != nil || version(t, h) != "1" {
		t.Errorf("enabled again: %v", err)
	}
}

// A spare is of the plugin as it is now: none is left of an older file or of one that is switched off.
func TestSpareIsOfTheNewestFile(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.Spare = 1 }))
	require.Must(h.Load(t.Context(), dir))(t)
	spare := func() (pid int) {
		require.Eventually(t, "a spare is warm", func() bool { pid = pluginOf(h, "versioned").Spare; return pid != 0 })
		return pid
	}
	ended := func(pid int) {
		require.Eventually(t, "the spare has ended", func() bool { return errors.Is(syscall.Kill(pid, 0), syscall.ESRCH) })
	}
	old := spare()
	plugintest.Deploy(t, dir, "versioned", "2")
	require.NoError(t, h.Sync(t.Context(), dir))
	ended(old)
	next, serves := spare(), pluginOf(h, "versioned").PID
	if got := version(t, h); got != "2" {
		t.Errorf("after the upgrade, %s serves", got)
	}
	require.NoError(t, syscall.Kill(serves, syscall.SIGKILL))
	require.Eventually(t, "the spare serves", func() bool { return pluginOf(h, "versioned").PID == next })
	if got := version(t, h); got != "2" {
		t.Errorf("after the crash, %s serves", got)
	}
	last := spare()
	require.NoError(t, h.Reconfigure(host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Enabled = false })))
	require.NoError(t, h.Sync(t.Context(), dir))
	ended(last)
	if s := pluginOf(h, "versioned"); s.State != plugin.Disabled || s.Spare != 0 {
		t.Errorf("switched off: %+v", s)
	}
}

// What an operator does to a directory is followed: each thing soon, none half.
func TestFollow(t *testing.T) {
	t.Parallel()
	above, root := t.TempDir(), t.TempDir()
	dir := filepath.Join(above, "plugins")
	if err := os.Mkdir(dir, 0o755); err != nil { //nolint:gosec // as plugin directories are
		t.Fatal(err)
	}
	log := &logbook{}
	h := newHost(t, host.WithRoot(root), host.WithLogger(log.logger()))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() { ended <- h.Follow(ctx, dir) }()
	defer func() {
		cancel()
		assert.NoError(t, <-ended)
	}()
	answers := func(want string) func() bool {
		return func() bool {
			res, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"})
			return err == nil && res.Text() == want
		}
	}
	plugintest.Install(t, dir, "silent") // does not hold up the others
	plugintest.Deploy(t, dir, "versioned", "1")
	require.Eventually(t, "version 1", answers("1"))
	plugintest.Deploy(t, dir, "versioned", "2-broken")
	require.Eventually(t, "version 2 was tried", func() bool { return pluginOf(h, "versioned").Upgrade != "" })
	if !answers("1")() {
		t.Error("the old one is gone")
	}

	// A copy that is not whole, and does not grow for a while.
	text := plugintest.Script(t, "3")
	require.NoError(t, os.Remove(filepath.Join(dir, "versioned")))
	f, err := os.OpenFile(filepath.Join(dir, "versioned"), os.O_CREATE|os.O_WRONLY, 0o755) //nolint:gosec // a program
	require.NoError(t, err)
	_, err = f.Write(text[:len(text)-4]) // it would start, and fail
	require.NoError(t, err)
	for _, name := range []string{"other", "another"} { // each takes two looks, and a start
		plugintest.Deploy(t, dir, name, "4-more")
		require.Eventually(t, "it has looked meanwhile", func() bool { return pluginOf(h, name).State == plugin.Ready })
	}
	if s := pluginOf(h, "versioned"); s.Version != "1" || !strings.Contains(s.Upgrade, "this version is broken") {
		t.Errorf("half a file was run: %+v", s)
	}
	_, err = f.Write(text[len(text)-4:])
	if err != nil || f.Close() != nil {
		t.Fatal(err)
	}
	require.Eventually(t, "version 3", answers("3"))

	away := filepath.Join(above, "away")
	require.NoError(t, os.Rename(dir, away))
	require.Eventually(t, "it is told that the directory is gone", func() bool { return log.says("there is no plugin directory") })
	if !answers("3")() {
		t.Error("the plugins went with their directory")
	}
	require.NoError(t, os.Rename(away, dir))
	plugintest.Deploy(t, dir, "versioned", "5")
	require.Eventually(t, "version 5", answers("5"))
	require.NoError(t, os.Remove(filepath.Join(dir, "versioned")))
	require.Eventually(t, "withdrawn", func() bool { return pluginOf(h, "versioned").Name == "" })
	require.Eventually(t, "its names are those of the others that wanted them", func() bool {
		count, _ := h.Get("versioned.count")
		return count.Owner == "another" && h.Len() == 3 && answers("4-more")()
	})
}

// A plugin that is not used is stopped, and starts with the next call; not while it
// keeps something for a session that lives.
func TestIdle(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1-keeps")
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.IdleTimeout = 20 * time.Millisecond }))
	require.Must(h.Load(t.Context(), dir))(t)
	idle := func() bool { return pluginOf(h, "versioned").State == plugin.Idle }
	require.Eventually(t, "idle", idle)
	if s := pluginOf(h, "versioned"); s.PID != 0 || !strings.Contains(s.Reason, "not used for 20ms") {
		t.Errorf("idle: %+v", s)
	}
	s := h.Session()
	if res, err := s.Execute(t.Context(), tool.Call{Name: "versioned.count"}); err != nil || res.Text() != "1-keeps" {
		t.Fatalf("%v, %v", res, err)
	}
	pid := pluginOf(h, "versioned").PID
	quiet := time.After(200 * time.Millisecond) // ten times
	<-quiet
	if now := pluginOf(h, "versioned"); now.PID != pid {
		t.Errorf("it was stopped while a session lives: %+v", now)
	}
	require.NoError(t, s.Close(t.Context()))
	require.Eventually(t, "idle again", idle)
}

// Limits of one plugin are not another's: here its calls run one at a time, none waits,
// and each may take 50 ms.
func TestLimitsOfOnePlugin(t *testing.T) {
	t.Parallel()
	dir, root := t.TempDir(), t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	timeout, limits := 50*time.Millisecond, plugin.Limits{Running: 1}
	h := newHost(t, host.WithRoot(root), host.WithPluginSettings(func(name string, s *plugin.Settings) {
		if name == "versioned" {
			s.CallTimeout, s.MaxTimeout, s.Limits = timeout, 0, limits
		}
	}))
	require.Must(h.Load(t.Context(), dir))(t)
	wait := tool.Call{Name: "versioned.wait", Arguments: []byte(`{"file":"never"}`)}
	if _, err := h.Execute(t.Context(), wait); tool.CodeOf(err) != tool.CodeDeadlineExceeded {
		t.Errorf("got %v", err)
	}
	timeout, limits = 0, plugin.Limits{Running: 1, MaxResult: 3}
	require.NoError(t, h.Sync(t.Context(), dir))
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan error, 1)
	go func() {
		_, err := h.Execute(ctx, wait)
		ended <- err
	}()
	require.Eventually(t, "it runs", func() bool { return pluginOf(h, "versioned").Calls == 1 })
	_, err := h.Execute(t.Context(), tool.Call{Name: "versioned.count"})
	if tool.CodeOf(err) != tool.CodeResourceExhausted || !strings.Contains(err.Error(), "1 calls run and 0 wait") {
		t.Errorf("a second call: %v", err)
	}
	cancel()
	if err := <-ended; tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("the first ended with %v", err)
	}
}

// Callers that ask at the same time do not start a plugin twice.
func TestSyncAtOnce(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	plugintest.Deploy(t, dir, "versioned", "1")
	h := newHost(t)
	require.Must(h.Load(t.Context(), dir))(t)
	for i := range 5 {
		plugintest.Deploy(t, dir, "versioned", fmt.Sprint("next-", i))
		var all sync.WaitGroup
		for range 4 {
			all.Go(func() {
				assert.NoError(t, h.Sync(t.Context(), dir))
			})
		}
		all.Wait()
		if s := pluginOf(h, "versioned"); s.Starts != 1 || s.Version != fmt.Sprint("next-", i) {
			t.Errorf("after four at once: %+v", s)
		}
	}
}
