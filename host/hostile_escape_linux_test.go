package host_test

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a plugin starts ends with it: see strike, which looks for it by the mark.
func TestHostileEscape(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 4, []attack{
		{mode: hostile.Litter, on: everyCarrier, then: leftSomething},
		crashed(hostile.LitterExit, "exit status 7"),
		refused(hostile.LitterDie, true, "exit status 7"),
		{mode: hostile.OwnSession, on: everyCarrier, then: leftSomething},
		{mode: hostile.OwnExit, on: everyCarrier, call: &fault{code: tool.CodeCrashed, texts: []string{"exit status 7"}, words: true}, then: allGone},
	})
}

// leftSomething makes sure that there is something to be ended at all.
func leftSomething(t *testing.T, s *scene) {
	if n := len(marked(s.mark)); n < 3 { // the neighbour, the attacker and what it started
		t.Errorf("%d processes run", n)
	}
}

// allGone waits until nothing but the neighbour is left, while the host lives.
func allGone(t *testing.T, s *scene) {
	require.Eventually(t, "only the neighbour is left", func() bool { return len(marked(s.mark)) == 1 })
}

// A plugin gets nothing of the host that it was not given.
func TestHostileTheft(t *testing.T) {
	t.Setenv(hostile.Secret, "of the host")
	together(t, 3, []attack{{mode: hostile.Thief, on: everyCarrier, each: true, then: func(t *testing.T, s *scene) {
		loot := lootOf(t, s.result)
		if len(loot.Inherited) > 0 {
			t.Errorf("it inherited %q", loot.Inherited)
		}
		seen := require.Must(s.ask())(t)
		if slices.ContainsFunc(seen.Env, func(kv string) bool { return strings.HasPrefix(kv, hostile.Secret) }) || seen.Stdin != "" {
			t.Errorf("it was given %+v", seen)
		}
	}}})
}

func lootOf(t *testing.T, res tool.Result) (loot hostile.Loot) {
	t.Helper()
	require.NoError(t, json.Unmarshal(res.Structured, &loot))
	return loot
}

// hostileHost makes this test's binary a host of its own, for what cannot be done
// to the test's: it loads the plugin directory that the variable names, calls
// hostile.Tool if there is one, tells how it went, and waits to be killed.
const hostileHost = "TOOLHOST_TEST_HOSTILE_HOST"

func init() {
	if dir := os.Getenv(hostileHost); dir != "" {
		beHost(dir)
	}
}
