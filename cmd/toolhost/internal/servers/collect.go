package servers

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/observe"
)

// Set are the servers that an operator has named, each with what it refers to.
type Set struct {
	// All are sorted by name. Names are unique, in whatever case.
	All []Named
	// Warnings say what has no effect, a line each.
	Warnings []string
}

// Named is a server of a [Set].
type Named struct {
	Entry
	// Target is how the server is reached. It is empty with an error, and for a server that is
	// not enabled.
	Target config.Target
	// Disabled says that the operator has switched it off.
	Disabled bool
	// Trace records what the server uses; nil: nothing does.
	Trace *observe.Trace
	// Malformed says that the entry itself is wrong, whatever it refers to.
	Malformed bool
}

// Collect returns the servers of the configuration and of files, in which a name belongs to the
// first that has it, the configuration before the files. A server of the configuration that has
// neither command nor url says how the one of that name in a file is run.
//
// # Errors
//
// Those of [Parse]. What is wrong with one server is the error of that entry.
func Collect(c *config.Config, files []Content, in config.Surroundings) (*Set, error) {
	out := &Set{}
	at := map[string]int{} // in out.All, by names in lower case
	keep := func(e Entry) {
		at[strings.ToLower(e.Name)] = len(out.All)
		out.All = append(out.All, Named{Entry: e})
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		keep(Entry{Name: name, File: c.File, From: c.Place("mcp_servers", name), Server: c.Servers[name]})
	}
	base := func(name string) config.Server {
		if s, ok := c.Servers[name]; ok && open(s) {
			return s
		}
		return c.NewServer()
	}
	for _, content := range files {
		f, err := Parse(content, base)
		if err != nil {
			return nil, err
		}
		out.Warnings = append(out.Warnings, f.Warnings...)
		for _, e := range f.Entries {
			i, taken := at[strings.ToLower(e.Name)]
			switch {
			case !taken:
				keep(e)
			case open(out.All[i].Server) && out.All[i].Err == nil && out.All[i].Name == e.Name:
				out.All[i].Entry = e
			default:
				out.Warnings = append(out.Warnings, fmt.Sprintf("%s: the server %s is left out: %s has its name already",
					e.From, e.Name, out.All[i].From))
			}
		}
	}
	slices.SortFunc(out.All, func(a, b Named) int { return strings.Compare(a.Name, b.Name) })
	for i := range out.All {
		s := &out.All[i]
		s.Malformed = s.Err != nil
		if s.Err == nil && s.Server.Enabled {
			s.Target, s.Err = s.Server.Resolve(in)
		}
		if s.Err != nil {
			s.Err = errors.New(strings.ReplaceAll(s.Err.Error(), "\n", "; "))
		}
	}
	return out, nil
}

// open reports whether a server does not say how it is reached.
func open(s config.Server) bool { return s.Command == "" && s.URL == "" }

// Notes returns the warnings. Of no set there are none.
func (s *Set) Notes() []string {
	if s == nil {
		return nil
	}
	return s.Warnings
}

// Files returns the files that servers take values from.
func (s *Set) Files() []string {
	var out []string
	for _, one := range s.All {
		out = append(out, one.Target.Files...)
	}
	return out
}

// Names returns the names of the servers.
func (s *Set) Names() (names []string) {
	for _, one := range s.All {
		names = append(names, one.Name)
	}
	return names
}

// Get returns the server of a name.
func (s *Set) Get(name string) (Named, bool) {
	i := slices.IndexFunc(s.All, func(one Named) bool { return one.Name == name })
	if i < 0 {
		return Named{}, false
	}
	return s.All[i], true
}

// Transport returns stdio, http or sse.
func (n Named) Transport() string {
	if n.Server.URL == "" {
		return "stdio"
	}
	return string(n.Server.Transport)
}
