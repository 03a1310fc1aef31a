package tool

import (
	"cmp"
	"strings"

	"github.com/toolhost/toolhost/internal/grant"
)

// Needs is what a plugin's process needs of the system that it runs on, as its author
// declares. It is a claim and gives nothing: it bounds what the process gets once the
// operator has accepted it. A process that declares nothing (a nil *Needs) is run as one
// whose needs are not known; the zero Needs declares that none of this is needed.
//
// What every process may have is not declared: the programs, libraries and certificates of
// the system to read, a small /tmp of its own, and /dev/null and its like. Nor is what belongs
// to the programs that it is and starts: the interpreter of a script, and of a program that is
// installed as TREE/bin/PROGRAM, TREE/lib. So it is with the programs that they are made of: of go,
// its tools, the toolchains and modules that it has downloaded (GOMODCACHE, to read) and its settings
// (GOENV); of gcc and git, those in their directories, while as and ld are declared. A plugin that
// declares go and [Cache] has GOCACHE and GOTMPDIR in there. Nor are files of the plugin itself, in or below its
// own directory, if its description names them (files).
//
// A list has at most 256 entries, each of 1 to 4,096 bytes, and all of them together have
// at most 64 KiB.
type Needs struct {
	// Read lists what the process reads: [Workspace], absolute paths, or paths that begin
	// with ~/. A directory includes everything in it.
	Read []string `json:"read,omitempty" example:"workspace"`
	// Write lists what it changes, and may read: [Workspace], [Cache] or paths.
	Write []string `json:"write,omitempty" example:"cache"`
	// Net lists what it connects to: [Any], or host:port, such as api.example.com:443,
	// *.example.com:443, 192.0.2.7:5432, [2001:db8::1]:53, or api.example.com:* for every
	// port of a name or a public address. Loopback inside its own sandbox needs no entry.
	Net []string `json:"net,omitempty" example:"*.acme.example:443"`
	// Exec lists the programs that it starts: [Any], names that are looked up in PATH,
	// paths, or directories (everything in them). [Workspace] and [Cache] are for what is
	// built or installed there: programs, and libraries that are loaded from there.
	Exec []string `json:"exec,omitempty" example:"git"`
	// Memory is how much memory it and what it starts need, in bytes, from 1 MiB to 1 PiB;
	// 0: not said.
	Memory int64 `json:"memory,omitempty"`
	// CPU is how many processors it can use, such as 0.5, from 0.01 to 65,536; 0: not said.
	CPU float64 `json:"cpu,omitempty"`
}

// The words that [Needs] and an operator's grants have besides paths, hosts and programs.
const (
	Workspace = grant.Workspace // the directory that the plugin is configured with
	Cache     = grant.Cache     // a directory of the plugin's own that lasts, in XDG_CACHE_HOME
	Any       = grant.Any       // everything
)

// String is the declaration on one line, for people: "read workspace; net a.example:443,
// b.example:443; memory 256 MiB", "nothing", or, of nil, "undeclared".
func (n *Needs) String() string {
	if n == nil {
		return "undeclared"
	}
	var parts []string
	for _, l := range grant.Lines {
		if text := l.Text(n); text != "" {
			parts = append(parts, l.Name+" "+text)
		}
	}
	return cmp.Or(strings.Join(parts, "; "), "nothing")
}
