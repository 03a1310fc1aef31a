package tool

import (
	"cmp"
	"errors"
	"fmt"
	"math"
	"path"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

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
	Workspace = "workspace" // the directory that the plugin is configured with
	Cache     = "cache"     // a directory of the plugin's own that lasts, in XDG_CACHE_HOME
	Any       = "any"       // everything
)

// Limits of [Needs].
const (
	MaxNeeds      = 256     // entries of a list
	MaxNeedLength = 4 << 10 // bytes of an entry

	maxNeedsLength = 64 << 10 // bytes of all entries
	minMemory      = 1 << 20
	maxMemory      = 1 << 50
	minCPU         = 0.01
	maxCPU         = 1 << 16
)

// list is one of the lists of [Needs].
type list struct {
	name   string
	of     func(*Needs) *[]string
	check  func(entry string) error
	normal func(entry string) string
	// covers reports whether an entry gives all that another does; both are normal.
	covers func(wide, narrow string) bool
}

// lists are in the order in which people read them.
var lists = []list{
	{"read", func(n *Needs) *[]string { return &n.Read }, checkPath, normalPath, pathCovers},
	{"write", func(n *Needs) *[]string { return &n.Write }, checkPath, normalPath, pathCovers},
	{"net", func(n *Needs) *[]string { return &n.Net }, checkNet, normalNet, netCovers},
	{"exec", func(n *Needs) *[]string { return &n.Exec }, checkProgram, normalPath, pathCovers},
}

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
	for _, l := range lists {
		entries := *l.of(n)
		if len(entries) > MaxNeeds {
			return bad("name directories or use a star", "%s has %d entries, more than %d", l.name, len(entries), MaxNeeds)
		}
		for _, e := range entries {
			total += len(e)
			if err := cmp.Or(checkNeed(e), l.check(e)); err != nil {
				return bad("", "%s %s: %v", l.name, sanitize.Quote(e, 100), err)
			}
		}
	}
	switch {
	case total > maxNeedsLength:
		return bad("name directories or use a star", "the entries have %d bytes together, more than %d", total, maxNeedsLength)
	case n.Memory != 0 && (n.Memory < minMemory || n.Memory > maxMemory):
		return bad("it is in bytes, from 1 MiB to 1 PiB", "memory is %d", n.Memory)
	case math.IsNaN(n.CPU), n.CPU != 0 && (n.CPU < minCPU || n.CPU > maxCPU):
		return bad("it is in processors, from 0.01 to 65536", "cpu is %v", n.CPU)
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

func isNeedWord(entry string) bool { return entry == Workspace || entry == Cache || entry == Any }

func checkPath(entry string) error {
	if isNeedWord(entry) {
		return nil
	}
	if !isAbs(entry) && !strings.HasPrefix(entry, "~/") {
		return errors.New("it is neither an absolute path, nor a path that begins with ~/, nor one of the words workspace, cache and any")
	}
	if slices.Contains(strings.FieldsFunc(entry, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return errors.New("it has .. in it: write the path that it leads to")
	}
	switch p := normalPath(entry); {
	case isAbs(p) && filepath.Dir(p) == p:
		return errors.New("it is everything: write any")
	case pathCovers("/proc", p), pathCovers("/sys", p):
		return errors.New("it shows or changes the system and other processes: a process has what it needs of /proc and /sys")
	}
	return nil
}

// isAbs reports whether a path is absolute on any system: one declaration may be for several.
func isAbs(p string) bool { return strings.HasPrefix(p, "/") || filepath.IsAbs(p) }

func checkProgram(entry string) error {
	switch {
	case isNeedWord(entry), isAbs(entry), strings.HasPrefix(entry, "~/"):
		return checkPath(entry)
	case strings.ContainsAny(entry, `/\`), entry == ".", entry == "..":
		return errors.New("it is neither a name without slashes, nor an absolute path, nor a path that begins with ~/")
	}
	return nil
}

// normalPath is an entry in the form in which entries are compared.
func normalPath(entry string) string {
	if rest, ok := strings.CutPrefix(entry, "~/"); ok {
		return "~" + path.Clean("/"+rest)
	}
	if strings.HasPrefix(entry, "/") {
		return path.Clean(entry)
	}
	return entry
}

func pathCovers(wide, narrow string) bool {
	return wide == Any || wide == narrow || strings.HasPrefix(narrow, strings.TrimSuffix(wide, "/")+"/")
}

// Normal returns the declaration in the one form of all that say the same: lists are sorted
// and have nothing twice, paths are clean and hosts in lower case. It shares no memory with n.
// The declaration has to pass [Needs.Check].
func (n *Needs) Normal() *Needs {
	if n == nil {
		return nil
	}
	out := &Needs{Memory: n.Memory, CPU: n.CPU}
	for _, l := range lists {
		var entries []string // nil if there are none
		for _, e := range *l.of(n) {
			entries = append(entries, l.normal(e))
		}
		slices.Sort(entries)
		*l.of(out) = slices.Compact(entries)
	}
	return out
}

// String is the declaration on one line, for people: "read workspace; net a.example:443,
// b.example:443; memory 256 MiB", "nothing", or, of nil, "undeclared".
func (n *Needs) String() string {
	if n == nil {
		return "undeclared"
	}
	var parts []string
	for _, l := range lists {
		if entries := *l.of(n); len(entries) > 0 {
			parts = append(parts, l.name+" "+strings.Join(entries, ", "))
		}
	}
	if n.Memory != 0 {
		parts = append(parts, "memory "+memoryText(n.Memory))
	}
	if n.CPU != 0 {
		parts = append(parts, "cpu "+cpuText(n.CPU))
	}
	if len(parts) == 0 {
		return "nothing"
	}
	return strings.Join(parts, "; ")
}

func memoryText(n int64) string {
	switch {
	case n == 0:
		return "not said"
	case n%(1<<30) == 0:
		return fmt.Sprintf("%d GiB", n>>30)
	case n%(1<<20) == 0:
		return fmt.Sprintf("%d MiB", n>>20)
	}
	return fmt.Sprintf("%d bytes", n)
}

func cpuText(n float64) string {
	if n == 0 {
		return "not said"
	}
	return strconv.FormatFloat(n, 'g', -1, 64)
}
