package sandbox_test

import (
	"fmt"
	"testing"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// wanted is a plugin's needs, and their profile on a system of these features.
func wanted(n tool.Needs, f sandbox.Features, protected ...string) (tool.Needs, sandbox.Report) {
	grant := func(list []string) sandbox.Grant {
		if len(list) == 1 && list[0] == tool.Any {
			return sandbox.Everything
		}
		return sandbox.Grant{List: list}
	}
	return n, sandbox.New(sandbox.Profile{
		Read: grant(n.Read), Write: grant(n.Write), Net: grant(n.Net), Exec: grant(n.Exec), Protected: protected,
		Limits: sandbox.Limits{Limits: cgroup.Limits{Memory: n.Memory}},
	}, f, nil).Report
}

// A start falls below an earlier one if a line is open that was enforced, unless more is wanted of it. What
// was enforced with more wanted counts for less, but not the other way round.
func TestFalls(t *testing.T) {
	t.Parallel()
	full := sandbox.Features{Stage: true, Privileged: true, Mounts: true, Proc: true, Network: true, Landlock: 7, Seccomp: true, Notify: true}
	bare := full
	bare.Privileged, bare.Mounts, bare.Proc, bare.Network = false, false, false, false
	mute := bare
	mute.Seccomp, mute.Notify = false, false
	everything := tool.Needs{Read: []string{tool.Any}, Write: []string{tool.Any}, Net: []string{tool.Any}, Exec: []string{tool.Any}}
	writes := tool.Needs{Write: []string{"/srv"}}
	for name, c := range map[string]struct {
		before, after tool.Needs
		on, then      sandbox.Features
		protected     []string
		want          string
	}{
		"the same":                      {tool.Needs{}, tool.Needs{}, full, full, nil, "[]"},
		"without namespaces":            {writes, writes, full, bare, nil, "[read write protected net processes]"},
		"wants less, without":           {writes, tool.Needs{}, full, bare, nil, "[read net processes]"},
		"never had any":                 {writes, writes, bare, bare, nil, "[]"},
		"without a filter":              {tool.Needs{}, tool.Needs{}, bare, mute, nil, "[write protected exec kernel]"},
		"more is wanted of a line":      {tool.Needs{}, writes, bare, bare, nil, "[]"},
		"more of one, others fall":      {tool.Needs{}, tool.Needs{Net: []string{"a.example:1"}}, full, bare, nil, "[read]"},
		"undeclared before":             {everything, tool.Needs{}, bare, bare, nil, "[]"},
		"undeclared, without a filter":  {everything, everything, bare, mute, nil, "[]"},
		"a lock that is not there yet":  {writes, writes, full, full, []string{"/srv/toolhost.lock"}, "[]"},
		"everything is wanted by now":   {tool.Needs{}, everything, full, bare, nil, "[]"},
		"a bound that it has by itself": {tool.Needs{}, tool.Needs{Memory: 1 << 30}, full, full, nil, "[]"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			remembered := (*sandbox.Enforced)(nil).Raised(wanted(c.before, c.on))
			names := []string{}
			for _, f := range remembered.Falls(wanted(c.after, c.then, c.protected...)) {
				names = append(names, f.Is.Name)
			}
			if got := fmt.Sprint(names); got != c.want {
				t.Errorf("%s falls, want %s", got, c.want)
			}
		})
	}
}

// Later starts raise what is remembered, and one that wants less for a while lowers nothing.
func TestRaised(t *testing.T) {
	t.Parallel()
	bare := sandbox.Features{Stage: true, Landlock: 7, Seccomp: true, Notify: true}
	full := bare
	full.Privileged, full.Mounts, full.Proc, full.Network = true, true, true, true
	writes := tool.Needs{Write: []string{"/srv"}}
	falls := func(e *sandbox.Enforced, n tool.Needs, f sandbox.Features) int { return len(e.Falls(wanted(n, f))) }
	e := (*sandbox.Enforced)(nil).Raised(wanted(writes, bare))
	e = e.Raised(wanted(tool.Needs{}, bare)) // of which the line of write is enforced
	if n := falls(e, writes, bare); n != 0 {
		t.Errorf("%d lines fall with what was wanted before", n)
	}
	e = e.Raised(wanted(writes, full))
	if falls(e, writes, bare) == 0 || falls(e.Raised(wanted(tool.Needs{}, full)), writes, bare) == 0 {
		t.Error("what was found possible here is done without")
	}
	var lines []string
	for _, f := range e.Falls(wanted(writes, bare)) {
		lines = append(lines, f.Is.Name)
	}
	if n := falls(e.Without(lines), writes, bare); n != 0 {
		t.Errorf("%d lines fall that were accepted", n)
	}
}
