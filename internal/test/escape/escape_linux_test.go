package escape_test

import (
	"os"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/escape"
)

// unconfined is how each attempt ends in a process that nothing confines.
var unconfined struct {
	sync.Mutex
	answers map[string]escape.Answer
}

func withoutSandbox(t *testing.T) map[string]escape.Answer {
	t.Helper()
	unconfined.Lock()
	defer unconfined.Unlock()
	if unconfined.answers == nil {
		w := newWorld(t)
		unconfined.answers = results(t, w, newFree(t, w), escape.Attempts())
	}
	return unconfined.answers
}

// The probe is honest: what can be done is done if nothing is in the way.
func TestUnconfined(t *testing.T) {
	t.Parallel()
	got := withoutSandbox(t)
	for _, a := range escape.Attempts() {
		want := a.Unconfined(os.Geteuid() == 0)
		switch have := got[a.Name]; {
		case have.Outcome == escape.Unavailable || want == "" && have.Outcome == escape.Denied:
			t.Logf("%s: %v", a.Name, have)
		case have.Outcome != want && (want != "" || have.Outcome != escape.Done):
			t.Errorf("%s: %v, want %s", a.Name, have, want)
		}
	}
}

// compare fails the test for each attempt that does not end as the table says. What this
// machine does not let a process do that nothing confines, it lets none do.
func compare(t *testing.T, under escape.Profiles, got map[string]escape.Answer, on ...escape.System) {
	t.Helper()
	free := withoutSandbox(t)
	for _, a := range escape.Attempts() {
		have, made := got[a.Name]
		if !made {
			continue
		}
		want := a.Expected(under, os.Geteuid() == 0, on...)
		if free[a.Name].Outcome != escape.Done && a.Takes != escape.Proxy {
			want = escape.Denied
		}
		if have.Outcome == escape.Unavailable { // a filter says so, or the kernel
			have.Outcome = escape.Denied
		}
		assert.Equalf(t, have.Outcome, want, "%s: %v, want %s", a.Name, have, want)
	}
}

func TestLevelNone(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	got := results(t, w, newConfined(t, w, func(c *pluginrun.Config) {
		c.Namespace, c.Sandbox.Level = plugin.NamespaceOff, plugin.NoSandbox
	}), escape.Attempts())
	compare(t, escape.NoSandbox, got, escape.Bare)
}

// Each attempt has one name, which says what it does.
func TestTable(t *testing.T) {
	t.Parallel()
	var names []string
	for g, a := range escape.Attempts() {
		if slices.Contains(names, a.Name) || g.Title == "" || !strings.HasSuffix(a.Does, ".") {
			t.Errorf("%s, %q, in %q", a.Name, a.Does, g.Title)
		}
		names = append(names, a.Name)
	}
	if len(names) < 80 {
		t.Errorf("%d attempts", len(names))
	}
}
