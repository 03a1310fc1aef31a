package lockfile

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Kind says what differs.
type Kind string

// The kinds, in the order in which they are told.
const (
	Added       Kind = "added"       // it is there and not pinned
	Removed     Kind = "removed"     // it is pinned and not there
	Binary      Kind = "binary"      // its bytes are others
	Definitions Kind = "definitions" // its tools are described otherwise
	Version     Kind = "version"     // it calls itself otherwise
	Unstarted   Kind = "not_started" // its bytes are as pinned, or not known, and it did not say what it is
)

// Difference is one fact of a plugin that is not as pinned.
type Difference struct {
	Plugin string `json:"plugin"`
	Kind   Kind   `json:"kind"`
	// Expected is what is pinned, Found what is there: digests with sha256: in front,
	// or versions. For a plugin that was added or removed, that of its binary; the
	// other is empty.
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
}

// String is the difference on one line.
func (d Difference) String() string {
	switch d.Kind {
	case Added:
		if d.Found == "" { // its binary was not read
			return d.Plugin + ": not pinned"
		}
		return fmt.Sprintf("%s: not pinned, found %s", d.Plugin, d.Found)
	case Removed:
		return fmt.Sprintf("%s: pinned as %s, not found", d.Plugin, d.Expected)
	case Unstarted:
		return d.Plugin + ": it did not start, so that its definitions are not compared"
	case Version:
		return fmt.Sprintf("%s: the version is %s, pinned is %s", d.Plugin, sanitize.Quote(d.Found, 80), sanitize.Quote(d.Expected, 80))
	case Definitions:
		return fmt.Sprintf("%s: the definitions are %s, pinned are %s", d.Plugin, d.Found, d.Expected)
	}
	return fmt.Sprintf("%s: the %s is %s, pinned is %s", d.Plugin, d.Kind, d.Found, d.Expected)
}

// Compare finds what differs between what is pinned and what is there, sorted by
// plugin. Nil for either counts as one without plugins. In current, a plugin that was not
// started has no digest of its definitions, and none of its binary if that was not read.
func Compare(pinned, current *Lock) []Difference {
	expected, found := pluginsOf(pinned), pluginsOf(current)
	all := maps.Clone(found)
	maps.Copy(all, expected)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		e, isPinned := expected[name]
		f, isThere := found[name]
		switch {
		case !isPinned:
			out = append(out, Difference{Plugin: name, Kind: Added, Found: prefixed(f.SHA256)})
		case !isThere:
			out = append(out, Difference{Plugin: name, Kind: Removed, Expected: digestPrefix + e.SHA256})
		default:
			out = append(out, e.differences(name, f)...)
		}
	}
	return out
}

func prefixed(digest string) string {
	if digest == "" {
		return ""
	}
	return digestPrefix + digest
}

func pluginsOf(l *Lock) map[string]Entry {
	if l == nil || l.Plugins == nil {
		return map[string]Entry{}
	}
	return l.Plugins
}

func (e Entry) differences(name string, f Entry) []Difference {
	if f.Definitions == "" {
		if f.SHA256 == "" || f.SHA256 == e.SHA256 {
			return []Difference{{Plugin: name, Kind: Unstarted}}
		}
		return []Difference{{name, Binary, digestPrefix + e.SHA256, digestPrefix + f.SHA256}}
	}
	var out []Difference
	if e.SHA256 != f.SHA256 {
		out = append(out, Difference{name, Binary, digestPrefix + e.SHA256, digestPrefix + f.SHA256})
	}
	if e.Definitions != f.Definitions {
		out = append(out, Difference{name, Definitions, digestPrefix + e.Definitions, digestPrefix + f.Definitions})
	}
	if e.Version != f.Version {
		out = append(out, Difference{name, Version, e.Version, f.Version})
	}
	return out
}

// Render is one line for each difference; empty: there is none.
func Render(all []Difference) string {
	var b strings.Builder
	for _, d := range all {
		b.WriteString(d.String())
		b.WriteByte('\n')
	}
	return b.String()
}
