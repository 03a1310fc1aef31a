package pluginrun

import (
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// profile returns what a process of the plugin at a path may do: for each line what the operator
// says or, if that is nothing, what the plugin declares; nil: everything, as its needs are not
// known.
func (c Config) profile(path, program, sockets string) sandbox.Profile {
	s, n := c.Sandbox, c.given()
	env := c.environment()
	paths := func(list []string) sandbox.Grant { return c.paths(list, env) }
	p := sandbox.Profile{
		Dir: c.Root, Program: program, Sockets: sockets, Cache: c.cache(), Hidden: slices.Clone(c.Hidden),
		Read: paths(n.Read), Write: paths(n.Write), Net: hosts(n.Net), Exec: paths(observe.Programs(n.Exec, env)),
		Limits: sandbox.Limits{Limits: cgroup.Limits{Memory: n.Memory, CPU: n.CPU, PIDs: s.PIDs}, Files: s.Files, Disk: s.Disk},
	}
	p.Read.Said = slices.Clone(p.Read.List)
	for _, entry := range n.Exec {
		if len(observe.Programs([]string{entry}, env)) > 0 { // else it is not there
			p.Exec.Said = append(p.Exec.Said, paths([]string{entry}).List...)
		}
	}
	p.Read.List = append(p.Read.List, modulesOf(path, c.modules)...)
	read, run := observe.Companions(p.Exec.List, env)
	p.Read.List = slices.Concat(p.Read.List, read, observe.Libraries(p.Exec.List))
	p.Exec.List = append(p.Exec.List, run...)
	if c.Protected != nil {
		p.Protected = c.Protected()
	}
	if c.TempDir != "" {
		p.Hidden = append(p.Hidden, c.TempDir)
	}
	return p
}

// given returns what the process is given, in the words of [tool.Needs].
func (c Config) given() (out tool.Needs) {
	if needs := c.effectiveNeeds(); needs != nil {
		out = *needs
	} else {
		for _, l := range grant.Lists {
			*l.List(&out) = []string{tool.Any}
		}
	}
	for _, l := range grant.Lines {
		if l.IsSaid(&c.Sandbox) {
			l.Copy(&out, &c.Sandbox)
		}
	}
	return out
}

// cache returns the directory of the plugin's own that lasts, if it has one; else it is empty.
func (c Config) cache() string {
	n := c.given()
	if c.CacheDir == nil || c.Sandbox.Level == plugin.NoSandbox || !slices.Contains(slices.Concat(n.Read, n.Write, n.Exec), tool.Cache) {
		return ""
	}
	return c.CacheDir()
}

// cacheVariables are the variables by which programs find that directory (XDG Base Directory
// Specification), if there is one.
func (c Config) cacheVariables() []string {
	if dir := c.cache(); dir != "" {
		return append(observe.GoEnvironment(c.given(), dir), "XDG_CACHE_HOME="+dir)
	}
	return nil
}

// effectiveNeeds returns what the plugin declares, as far as it was accepted; nil: its needs are
// not known.
func (c Config) effectiveNeeds() *tool.Needs {
	if c.asking() {
		return &tool.Needs{}
	}
	if ceiling, known := c.accepted(); known {
		return need.Within(c.needs, ceiling)
	}
	return c.needs
}

// accepted is what the operator has accepted of the plugin's needs; false: that is not known.
func (c Config) accepted() (ceiling *tool.Needs, known bool) {
	if c.Accepted == nil {
		return nil, false
	}
	return c.Accepted()
}

// asking reports whether the process is started to learn what it needs, for which it is to need
// nothing: what needs more cannot be told apart from what declares nothing, of which too much may
// stay open to be strict.
func (c Config) asking() bool {
	if !c.unasked || c.Sandbox.Level != plugin.Strict {
		return false
	}
	_, known := c.accepted()
	return !known
}

// otherNeeds is the error of a start that found out that the plugin declares other needs than
// those that its process was confined by. The next one goes by these.
type otherNeeds struct {
	needs   *tool.Needs
	modules []string
}

func (*otherNeeds) Error() string { return "the plugin declares other needs each time that it starts" }

func (*otherNeeds) Is(err error) bool { return err == ErrAgain }

// checkNeeds returns [otherNeeds] if a process that was confined by what is known of the plugin
// is not confined as it declares.
func (c Config) checkNeeds(about wire.Description) error {
	known := c
	known.needs, known.unasked = about.Needs, false
	effective := known.effectiveNeeds()
	same := reflect.DeepEqual(effective, c.effectiveNeeds()) && (effective == nil || slices.Equal(about.Files, c.modules))
	if c.Sandbox.Level == plugin.NoSandbox || c.Trace != nil || same {
		return nil
	}
	return &otherNeeds{about.Needs, about.Files}
}

// checkWrites asks [Config.MayWrite].
func (c Config) checkWrites() error {
	if c.MayWrite == nil || c.Sandbox.Level == plugin.NoSandbox {
		return nil
	}
	write := c.paths(c.given().Write, c.environment())
	if said := c.effectiveNeeds() != nil || c.Sandbox.Write != nil; said && write.Any {
		write.List = append(write.List, string(filepath.Separator))
	}
	for _, dir := range write.List {
		if err := c.MayWrite(dir); err != nil {
			return err
		}
	}
	return nil
}

func hosts(list []string) sandbox.Grant {
	if slices.Contains(list, tool.Any) {
		return sandbox.Everything
	}
	return sandbox.Grant{List: list}
}

// paths returns what the entries of a list give.
func (c Config) paths(list, env []string) (g sandbox.Grant) {
	for _, entry := range list {
		switch entry {
		case tool.Any:
			g.Any = true
		case tool.Workspace:
			g.List = append(g.List, c.Root)
		case tool.Cache:
			if dir := c.cache(); dir != "" {
				g.List = append(g.List, dir)
			}
		default:
			g.List = append(g.List, filepath.Clean(observe.ExpandHome(entry, env)))
		}
	}
	return g
}

// errStrict is the reason if this system cannot enforce what is to be enforced.
func strictFailure(plugin string, open sandbox.Report) error {
	return &startFailure{reason: "its sandbox is strict, and this system does not enforce all of it: " + open.String() +
		" (to run it all the same: level: best-effort; " + remedy.ShowPlugin.For(plugin) + ")", err: exec.ErrNotFound}
}
