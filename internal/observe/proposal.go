package observe

import (
	"cmp"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A directory stands for what was used of it if that is so many of its own entries, or so many
// in all below it.
const (
	manyParts   = 4
	manyEntries = 8
)

// Proposal returns what the plugin needs to do again what it did, as its author would declare it
// and its operator grant it, and what has to be known of that. It is complete once the plugin
// is closed. Many entries of a directory are the directory. What is too wide to be proposed, such
// as a home directory, is left out, and the notes say so.
func (t *Trace) Proposal() (*tool.Needs, []string) {
	t.mu.Lock()
	defer t.mu.Unlock()
	exec := slices.Collect(maps.Keys(t.exec))
	programs := Programs(exec, t.around.env)
	files, run := Companions(programs, t.around.env) // come with them
	run = leading(run...)
	exec = t.trees(slices.DeleteFunc(exec, func(path string) bool { return withinAny(run, path) }))
	if t.exec[tool.Any] {
		exec = []string{tool.Any}
	}
	write := t.trees(t.written())
	granted := leading(slices.Concat(write, exec, run, files, Libraries(programs))...)
	read := t.trees(slices.DeleteFunc(slices.Collect(maps.Keys(t.read)), func(path string) bool { return withinAny(granted, path) }))
	net := slices.Sorted(maps.Keys(t.hosts))
	if len(t.direct) > 0 {
		net = []string{tool.Any}
		t.note("net is any, as it connects to %s past the proxy that HTTP_PROXY and HTTPS_PROXY name: through that, a list of hosts is enough",
			strings.Join(slices.Sorted(maps.Keys(t.direct)), ", "))
	}
	needs := &tool.Needs{Read: read, Write: write, Net: net, Exec: exec}
	for _, l := range grant.Lists {
		*l.List(needs) = t.valid(l, *l.List(needs))
	}
	return needs, slices.Clone(t.notes)
}

// written returns what has to be written: for what was made or removed that is the directory
// that it is in, and a directory that was made is there next time.
func (t *Trace) written() []string {
	out := slices.Collect(maps.Keys(t.write))
	for path := range t.entries {
		if info, err := os.Stat(path); filepath.IsAbs(path) && (!t.made[path] || err != nil || !info.IsDir()) {
			path = filepath.Dir(path)
		}
		out = append(out, path)
	}
	return out
}

// trees returns entries with directories in place of many in them, and without those that others
// give.
func (t *Trace) trees(entries []string) []string {
	entries = slices.DeleteFunc(entries, func(path string) bool {
		wide := t.isWide(path)
		if wide {
			t.note("left out, as it is too wide: %s", path)
		}
		return wide
	})
	above := map[string]bool{}
	for _, path := range entries {
		for dir := filepath.Dir(path); !above[dir] && filepath.Dir(dir) != dir && dir != "."; dir = filepath.Dir(dir) {
			above[dir] = true
		}
	}
	deepest := slices.SortedFunc(maps.Keys(above), func(a, b string) int {
		return cmp.Or(strings.Count(b, "/")-strings.Count(a, "/"), strings.Compare(a, b))
	})
	for _, dir := range deepest {
		if t.isWide(dir) || filepath.Dir(dir) == "/" {
			continue
		}
		parts, total := map[string]bool{}, 0
		for _, path := range entries {
			if path != dir && within(dir, path) {
				part, _, _ := strings.Cut(path[len(dir)+1:], "/")
				parts[part] = true
				total++
			}
		}
		if len(parts) >= manyParts || total >= manyEntries {
			entries = append(slices.DeleteFunc(entries, func(path string) bool { return within(dir, path) }), dir)
		}
	}
	slices.Sort(entries)
	entries = slices.Compact(entries)
	return slices.DeleteFunc(slices.Clone(entries), func(path string) bool {
		others := slices.DeleteFunc(slices.Clone(entries), func(other string) bool { return other == path })
		return filepath.IsAbs(path) && withinAny(leading(others...), path)
	})
}

// isWide reports whether a directory has what a plugin has no business with.
func (t *Trace) isWide(dir string) bool {
	common := []string{"/bin", "/dev", "/etc", "/home", "/media", "/mnt", "/opt", "/root", "/run", "/srv", "/tmp", "/usr", "/var", "/var/tmp"}
	return filepath.IsAbs(dir) && (within(dir, t.around.home) || within(dir, t.around.root) ||
		slices.Contains(common, dir) || slices.Contains(t.around.temporary, dir) || filepath.Dir(dir) == dir)
}

// valid returns those entries of a list that can be declared, with ~ for the home directory.
func (t *Trace) valid(list grant.Line, entries []string) (out []string) {
	for _, entry := range entries {
		if home := t.around.home; home != "/" && home != "" && within(home, entry) {
			entry = "~" + entry[len(home):]
		}
		n := &tool.Needs{}
		*list.List(n) = []string{entry}
		if err := need.Check(n); err != nil {
			t.note("left out of %s: %s", list.Name, tool.AsError(err).Message)
			continue
		}
		out = append(out, entry)
	}
	return out
}
