package config

import (
	"errors"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"
	"unicode"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/setting"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var sandboxLists = append(slices.Clone(grant.Lists), grant.Line{Name: "env"})

// cloned returns a sandbox that shares no list with s, to decode into: encoding/json would
// write a list over the items of the one that is there.
func cloned(s plugin.Sandbox) plugin.Sandbox {
	for _, line := range sandboxLists {
		*line.List(&s) = slices.Clone(*line.List(&s))
	}
	return s
}

// checkSandboxes looks at what the file says of sandboxes.
func (r *reader) checkSandboxes(c *Config) {
	r.checkSandbox("defaults.sandbox", c.Defaults.Sandbox)
	for name, p := range c.Plugins {
		r.checkSandbox(below("plugins", name)+".sandbox", p.Sandbox)
	}
	for name, s := range c.Servers {
		key := below("mcp_servers", name) + ".sandbox"
		r.checkSandbox(key, s.Sandbox)
		if s.URL != "" && r.has(key) {
			r.at(key, "remove it", "it has no effect with url: no process of this system serves the tools")
		}
	}
}

// checkSandbox looks at the lines that the file has here, and not at those that are inherited.
func (r *reader) checkSandbox(key string, s plugin.Sandbox) {
	for _, line := range keys(root().Member("defaults").Member("sandbox")) {
		if line != "level" && s.Level == plugin.NoSandbox && r.has(below(key, line)) {
			r.at(below(key, line), "remove it, or choose another level", "it has no effect at the level none")
		}
	}
	for _, line := range sandboxLists {
		list := *line.List(&s)
		for i, text := range list {
			at := item(below(key, line.Name), i)
			switch {
			case text == "" || !r.has(at): // a problem, or a word for the whole list
			case slices.Index(list, text) < i:
				r.at(at, "keep one of them", "%s is there twice", shown(text))
			case text == tool.Any && len(list) > 1:
				r.at(at, "remove the others, or remove it", "%s includes the others", tool.Any)
			default:
				r.checkSandboxItem(line.Name, at, text)
			}
		}
	}
}

func (r *reader) checkSandboxItem(list, at, text string) {
	switch {
	case list == "net" && strings.Contains(text, "@"): // perhaps with a password
		r.keep(nearest(r.places, at), 1, at, "write HOST:PORT alone", "it names a user")
	case list == "net" && text != tool.Any:
		if _, err := egress.ParsePattern(text); err != nil {
			r.at(at, "", "%v", err)
		}
	case list == "env", list == "net", !filepath.IsAbs(text):
	case strings.ContainsFunc(text, unicode.IsControl): // of a variable
		r.at(at, "give another path", "the path has a control character")
	case filepath.Dir(text) == text:
		r.at(at, wholeHint, "%s is everything", shownPath(text))
	case grant.OfKernel(text):
		r.at(at, kernelHint, "%s "+kernelProblem, shownPath(text))
	}
}

const (
	wholeHint     = "write any in its place"
	kernelHint    = "remove it: a process has what it needs of /proc and /sys"
	kernelProblem = "shows or changes the system and other processes, and cannot be given"
)

// program reads the name or the path of a program.
func (r *reader) program(key string, n *node, s *setting.Setting) any {
	switch {
	case strings.ContainsAny(n.text, `/${~`), strings.ContainsRune(n.text, filepath.Separator):
		return r.path(key, n)
	case n.text != "" && !strings.ContainsFunc(n.text, notOfProgram):
		return n.text
	}
	r.wrong(key, n, s)
	return nil
}

func notOfProgram(r rune) bool {
	return !unicode.IsLetter(r) && !unicode.IsNumber(r) && !strings.ContainsRune("_.+@:,=%[-", r)
}

func shownPath(path string) string { return sanitize.Line(filepath.ToSlash(path), 0) }

// CheckPaths finds paths of sandboxes that do not exist, or that lead where no path may. It is
// a step of its own because it looks at what the file names, which is not to be done for a file
// that does not count. What is not enabled is left out.
//
// # Errors
//
// [*Error] with each such path.
func (c *Config) CheckPaths() error {
	f := &findings{src: c.src()}
	f.checkPaths("defaults.sandbox", c.Defaults.Sandbox, c.places)
	for name, p := range c.Plugins {
		if p.Enabled {
			f.checkPaths(below("plugins", name)+".sandbox", p.Sandbox, c.places)
		}
	}
	for name, s := range c.Servers {
		if s.Enabled {
			f.checkPaths(below("mcp_servers", name)+".sandbox", s.Sandbox, c.places)
		}
	}
	return f.err()
}

// checkPaths looks at the paths that stand at a key.
func (f *findings) checkPaths(key string, s plugin.Sandbox, places map[string]place) {
	for _, line := range sandboxLists {
		for i, path := range *line.List(&s) {
			at := item(below(key, line.Name), i)
			if _, here := places[at]; !here || line.Name == "net" || line.Name == "env" || !filepath.IsAbs(path) {
				continue // inherited, or a word or name
			}
			target, err := filepath.EvalSymlinks(path)
			switch {
			case errors.Is(err, fs.ErrNotExist):
				f.add(places[at], at, "make it, or remove it here", "there is no %s", shownPath(path))
			case err != nil:
				f.add(places[at], at, "give another path", "%s cannot be used: %v", shownPath(path), err)
			case filepath.Dir(target) == target:
				f.add(places[at], at, wholeHint, "%s leads to %s, which is everything", shownPath(path), shownPath(target))
			case grant.OfKernel(target):
				f.add(places[at], at, kernelHint, "%s leads to %s, which "+kernelProblem, shownPath(path), shownPath(target))
			}
		}
	}
}
