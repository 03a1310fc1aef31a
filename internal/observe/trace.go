package observe

import (
	"fmt"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Trace records what the process of a plugin, and all that it starts, use of the system while
// nothing is refused to them, to propose what the plugin needs; see the Settings of plugins. It is for one
// plugin. Make it with [New].
type Trace struct {
	mu     sync.Mutex
	around surroundings
	seen   map[sandbox.Use]bool
	made   map[string]bool // that did not exist before, where it leads
	// What was used: paths, and words of [tool.Needs].
	read, write, entries, exec map[string]bool
	hosts, direct              map[string]bool // reached by the proxy, and past it
	notes                      []string
}

// maxUses bounds what a trace remembers of a plugin that makes up names.
const maxUses = 100_000

// surroundings are what a process has around it.
type surroundings struct {
	root, cache, home string
	temporary         []string // directories in which it has what it makes
	reads, writes     []string // whatever it is granted
	env               []string
	proxy             netip.AddrPort
}

// New returns a trace without a use.
func New() *Trace {
	t := &Trace{seen: map[sandbox.Use]bool{}}
	for _, m := range []*map[string]bool{&t.made, &t.read, &t.write, &t.entries, &t.exec, &t.hosts, &t.direct} {
		*m = map[string]bool{}
	}
	return t
}

// Begin is called before each start of a process, with its environment and where its proxy is.
func (t *Trace) Begin(of sandbox.Profile, env []string, proxy netip.AddrPort) {
	a := surroundings{root: of.Dir, cache: of.Cache, env: env, proxy: proxy, temporary: []string{"/tmp"}}
	for _, kv := range env {
		switch name, value, _ := strings.Cut(kv, "="); {
		case !filepath.IsAbs(value):
		case name == "HOME":
			a.home = filepath.Clean(value)
		case name == "TMPDIR":
			a.temporary = append(a.temporary, filepath.Clean(value))
		}
	}
	reads, writes := of.Always()
	telemetry := filepath.Join(filepath.Dir(goConfig(env)), "telemetry") // of the go command, which does without
	a.reads, a.writes = leading(append(reads, telemetry)...), leading(append(writes, telemetry)...)
	t.mu.Lock()
	defer t.mu.Unlock()
	t.around = a
}

// Unconfinable records that the plugin can be started only if it may start any program.
func (t *Trace) Unconfinable(why error) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.exec[tool.Any] = true
	t.note("exec is any: %v", why)
}

// Knows adds files that the plugin consists of, as it says.
func (t *Trace) Knows(files []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.around.reads = append(t.around.reads, leading(files...)...)
}

// Reached records what the proxy was asked for.
func (t *Trace) Reached(e egress.Event) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch e.Target {
	case "":
	case egress.Others:
		t.direct[egress.Others] = true
	default:
		t.hosts[e.Target] = true
	}
}

// Used records a use.
func (t *Trace) Used(u sandbox.Use) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch {
	case t.seen[u]:
		return
	case len(t.seen) == maxUses:
		t.note("only the first %d uses are looked at", maxUses)
		return
	}
	t.seen[u] = true
	switch u.Kind {
	case sandbox.Unseen:
		t.note("some of it could not be looked at: a program hides its memory from the host, or ended")
	case sandbox.Connects:
		switch {
		case u.Name != "":
			t.direct[u.Name] = true
		case u.Address.Addr() != netip.AddrFrom4([4]byte{127, 0, 0, 1}):
			t.direct[u.Address.String()] = true
		case u.Address != t.around.proxy: // what is granted there needs no proxy
			t.hosts[fmt.Sprintf("localhost:%d", u.Address.Port())] = true
		}
	case sandbox.Runs:
		t.runs(u)
	case sandbox.Reads:
		if !slices.Contains(t.around.temporary, u.Real) {
			t.add(t.read, t.around.reads, u)
		}
	case sandbox.Writes:
		t.add(t.write, t.around.writes, u)
	case sandbox.Removes:
		t.add(t.entries, t.around.writes, u)
	case sandbox.Makes:
		if !slices.Contains(t.around.temporary, filepath.Dir(u.Real)) {
			t.add(t.entries, t.around.writes, u)
		}
		t.made[u.Real] = true
	}
}

// add adds the paths of a use that the process has not got anyway: that which it named, as there
// may be links in it, and that to which it leads. What it has made is had with what it is in.
func (t *Trace) add(to map[string]bool, has []string, u sandbox.Use) {
	if word := t.word(u.Real); word != "" {
		to[word] = true
		return
	}
	if t.isMade(u.Real) {
		return
	}
	for _, path := range []string{u.Path, u.Real} {
		if !withinAny(has, path) {
			to[path] = true
		}
	}
}

// runs records the start of a program, and of its interpreter if it is a script.
func (t *Trace) runs(u sandbox.Use) {
	switch word := t.word(u.Real); {
	case word != "":
		t.exec[word] = true
	case u.Real == "":
		t.exec[tool.Any] = true
		t.note("exec is any, as it runs a program that is not a file")
	case t.isMade(u.Real):
		t.exec[tool.Any] = true
		t.note("exec is any, as it runs what it makes: %s", u.Path)
	default:
		t.exec[t.program(u.Path, u.Real)] = true
	}
	if line := Interpreter(u.Real); line != nil {
		all := leading(line[0])
		t.exec[t.program(line[0], all[len(all)-1])] = true
	}
}

// program returns the name of a program if its PATH leads to it, else its path.
func (t *Trace) program(path, target string) string {
	name := filepath.Base(path)
	found, err := Program(name, "", t.around.env)
	if err == nil && (found == path || withinAny(t.around.reads, path) && slices.Contains(leading(found), target)) {
		return name
	}
	return path
}

// isMade reports whether a path, or what it is in, was made by the process.
func (t *Trace) isMade(path string) bool {
	for ; !t.made[path]; path = filepath.Dir(path) {
		if filepath.Dir(path) == path {
			return false
		}
	}
	return true
}

// word returns the word for the tree that a path is in; empty: there is none.
func (t *Trace) word(path string) string {
	switch {
	case withinAny(leading(t.around.root), path):
		return tool.Workspace
	case withinAny(leading(t.around.cache), path):
		return tool.Cache
	}
	return ""
}

// note adds what a person has to know of the proposal, once.
func (t *Trace) note(format string, args ...any) {
	if text := fmt.Sprintf(format, args...); !slices.Contains(t.notes, text) {
		t.notes = append(t.notes, text)
	}
}

// leading returns paths together with those to which they lead.
func leading(paths ...string) (out []string) {
	for _, path := range paths {
		out = append(out, path)
		if target, err := filepath.EvalSymlinks(path); err == nil && target != path {
			out = append(out, target)
		}
	}
	return out
}

func within(dir, path string) bool {
	return dir != "" && (path == dir || strings.HasPrefix(path, strings.TrimSuffix(dir, "/")+"/"))
}

func withinAny(dirs []string, path string) bool {
	return slices.ContainsFunc(dirs, func(dir string) bool { return within(dir, path) })
}
