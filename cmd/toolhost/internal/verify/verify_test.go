package verify_test

import (
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// TestMain is a faulty plugin if its file is named for one: not all of them look at the cookie.
func TestMain(m *testing.M) {
	modes := map[plugintest.Mode]func(){"honest": func() { (&honest{stream: honestFrames.serve}).serve() }}
	for name, behave := range hostile {
		modes[plugintest.Mode(name)] = behave
	}
	maps.Copy(modes, modesOf(watchFaults))
	for name, f := range faults {
		modes[plugintest.Mode(name)] = func() { f.plugin().serve() }
	}
	maps.Copy(modes, modesOfCalls())
	if behave := modes[plugintest.Mode(filepath.Base(os.Args[0]))]; behave != nil {
		behave()
		return
	}
	plugintest.Main(m, modes)
}

// hostile are programs that keep nothing of the protocol.
var hostile = map[string]func(){
	"hang": plugintest.Hang,
	"flood": func() {
		for text := []byte(strings.Repeat("x", 1<<16)); ; {
			_, _ = os.Stdout.Write(text)
		}
	},
}

// A program that hangs or floods is ended, and its checks end.
func TestHostilePrograms(t *testing.T) {
	t.Parallel()
	for name := range hostile {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := plugintest.Dir(t, plugintest.Mode(name))
			report, err := verify.Run(t.Context(), verify.Options{File: filepath.Join(dir, name), Timeout: time.Second})
			require.NoError(t, err)
			if report.Failed == 0 || report.Checks[1].ID != "handshake.line" || report.Checks[1].Outcome != verify.Fail {
				t.Errorf("%s: %+v", report.Summary(), report.Checks[1])
			}
		})
	}
}

// found verifies a plugin by the given checks, by default all, and returns the names of those that
// have found something.
func found(t *testing.T, name string, checks ...string) (names []string, report *verify.Report) {
	t.Helper()
	dir := plugintest.Dir(t, plugintest.Mode(name))
	report = require.Must(verify.Run(t.Context(), verify.Options{File: filepath.Join(dir, name), Checks: checks}))(t)
	for _, r := range report.Checks {
		if r.Found() && r.ID != "start.time" { // which is about the machine that runs this
			names = append(names, r.ID)
			t.Logf("%s: %s: %s", r.Outcome, r.ID, r.Why)
		}
	}
	return names, report
}

// Each faulty plugin has one fault, and one check names it. With -short only that check is run, with
// what it needs: all 99 of 62 plugins take more than a minute of the processors.
func TestFaultyPlugins(t *testing.T) {
	t.Parallel()
	for _, name := range slices.Sorted(maps.Keys(faults)) {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := faults[name].check
			var chosen []string
			if testing.Short() {
				chosen = append(chosen, want, shownBy[want])
			}
			names, report := found(t, name, chosen...)
			for _, r := range report.Checks {
				if r.ID == want && r.Outcome == verify.Skip {
					t.Skipf("%s: %s", want, r.Why) // as for the sandbox on some systems
				}
			}
			assert.EqualSlicesf(t, names, []string{want}, "%v have found something, want %s alone", names, want)
		})
	}
}

// An honest plugin without an SDK passes.
func TestHonestPlugin(t *testing.T) {
	t.Parallel()
	if names, report := found(t, "honest"); len(names) > 0 || report.Passed < 90 {
		t.Errorf("%v have found something, and %d have passed", names, report.Passed)
	}
}
