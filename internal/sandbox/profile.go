package sandbox

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/cgroup"
)

// Profile is what a process may do. The paths are absolute and clean. The zero value gives
// nothing but what every process has: the system's programs and libraries to read, an empty /tmp
// of its own, and loopback of its own.
type Profile struct {
	// Dir is the working directory. It need not be visible in the sandbox.
	Dir string
	// Program is what is run. It can be read, and started once.
	Program string
	// Script is what Program reads to be the plugin. Empty: Program is the plugin.
	Script string
	// Read and Write are the trees that can be read, or read and changed.
	Read, Write Grant
	// Exec are the programs that can be started, or directories of them.
	Exec Grant
	// Net are the hosts that can be connected to.
	Net Grant
	// Sockets is a directory in which the process may make its socket. Empty: none.
	Sockets string
	// Cache is a directory of the process's own, in a hidden one. Empty: none.
	Cache string
	// Protected are files and directories that cannot be changed, in whatever tree they lie, and
	// Hidden are directories that look empty.
	Protected, Hidden []string
	// Limits are what it may use.
	Limits Limits
}

// Grant is a list of what is given, or everything.
type Grant struct {
	Any  bool
	List []string
	// Said is the list as who gave it said it, without what belongs to that, such as the programs that
	// git is made of. Nil: it is the list.
	Said []string
}

// Everything is the grant of everything.
var Everything = Grant{Any: true}

// String returns the grant for people: "any", "none" or the list.
func (g Grant) String() string {
	switch {
	case g.Any:
		return "any"
	case len(g.List) == 0:
		return "none"
	case len(g.Said) > 0 && len(g.Said) < len(g.List):
		return strings.Join(g.Said, ", ") + ", and what belongs to it"
	case len(g.Said) > 0:
		return strings.Join(g.Said, ", ")
	}
	return strings.Join(g.List, ", ")
}

// Limits bound what a process and what it starts may use. Zero means no bound.
type Limits struct {
	cgroup.Limits       // what they use together
	Files         int   // descriptors, each process
	Disk          int64 // bytes of each file, and of /tmp
	// Signals that wait, of which each timer has one; those of all processes of its user count.
	Signals int
}

// Line is one line of a profile, and what becomes of it on this system.
type Line struct {
	// Name is what the line is about, such as "net".
	Name string `json:"name"`
	// Given is what the process has of it, such as "none".
	Given string `json:"given"`
	// By is what enforces that. Empty: nothing does, or nothing has to.
	By []string `json:"enforced_by,omitempty"`
	// Open is what this system does not enforce of it. Empty: it is enforced in full.
	Open string `json:"not_enforced,omitempty"`
}

// Report is what a plan enforces.
type Report []Line

// Open returns the lines that are not enforced in full.
func (r Report) Open() Report {
	return slices.DeleteFunc(slices.Clone(r), func(l Line) bool { return l.Open == "" })
}

// String returns the open lines in one sentence; empty: there are none.
func (r Report) String() string {
	var out []string
	for _, l := range r.Open() {
		out = append(out, l.Name+" "+l.Given+": "+l.Open)
	}
	return strings.Join(out, "; ")
}
