package tool

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/sanitize"
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

// Limits of [Needs].
const (
	MaxNeeds      = 256     // entries of a list
	MaxNeedLength = 4 << 10 // bytes of an entry

	maxNeedsLength = 64 << 10 // bytes of all entries
)

// Check returns an error for the first mistake in a declaration. Nil has none.
//
// # Errors
//
// [CodeInvalidDefinition]. The message names the list and the entry.
func (n *Needs) Check() error {
	if n == nil {
		return nil
	}
	bad := func(hint, format string, args ...any) error {
		return Errorf(CodeInvalidDefinition, "the declared needs are malformed: %s", fmt.Sprintf(format, args...)).
			At(StageRegister).Try(hint)
	}
	total := 0
	for _, l := range grant.Lists {
		entries := *l.List(n)
		if len(entries) > MaxNeeds {
			return bad("name directories or use a star", "%s has %d entries, more than %d", l.Name, len(entries), MaxNeeds)
		}
		for _, e := range entries {
			total += len(e)
			if err := cmp.Or(checkNeed(e), l.Check(e)); err != nil {
				return bad("", "%s %s: %v", l.Name, sanitize.Quote(e, 100), err)
			}
		}
	}
	if total > maxNeedsLength {
		return bad("name directories or use a star", "the entries have %d bytes together, more than %d", total, maxNeedsLength)
	}
	for _, l := range grant.Amounts {
		if amount := l.Amount(n); amount != 0 && !(amount >= l.Least && amount <= l.Most) { // as NaN is not
			return bad(l.Range, "%s is %v", l.Name, l.Value(n))
		}
	}
	return nil
}

// checkNeed checks what holds for entries of each list.
func checkNeed(entry string) error {
	switch {
	case entry == "":
		return errors.New("it is empty")
	case len(entry) > MaxNeedLength:
		return fmt.Errorf("it has %d bytes, more than %d", len(entry), MaxNeedLength)
	case !utf8.ValidString(entry):
		return errors.New("it is not UTF-8")
	case strings.ContainsAny(entry, "\n\t") || hidden(entry) >= 0:
		return errors.New("it has a control or hidden character")
	case strings.TrimSpace(entry) != entry:
		return errors.New("it has white space around it")
	}
	return nil
}

// Normal returns the declaration in the one form of all that say the same: lists are sorted
// and have nothing twice, paths are clean and hosts in lower case. It shares no memory with n.
// The declaration has to pass [Needs.Check].
func (n *Needs) Normal() *Needs {
	if n == nil {
		return nil
	}
	out := *n
	for _, l := range grant.Lists {
		var entries []string // nil if there are none
		for _, e := range *l.List(n) {
			entries = append(entries, l.Normal(e))
		}
		slices.Sort(entries)
		*l.List(&out) = slices.Compact(entries)
	}
	return &out
}

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
