package lockfile

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Kind says what differs.
type Kind string

// The kinds, in the order in which they are reported.
const (
	Added       Kind = "added"       // the plugin is there and not pinned
	Removed     Kind = "removed"     // the plugin is pinned and not there
	Binary      Kind = "binary"      // its bytes differ
	Identity    Kind = "identity"    // it is another server, or one in place of a binary
	Definitions Kind = "definitions" // its tools' definitions differ
	Version     Kind = "version"     // its version differs
	Needs       Kind = "needs"       // it declares other needs than those that are pinned
	Unstarted   Kind = "not_started" // its bytes are as pinned, or not known, and it did not start
)

// Difference is one fact of a plugin that is not as pinned.
type Difference struct {
	Plugin string `json:"plugin"`
	Kind   Kind   `json:"kind"`
	// Expected is what is pinned, Found what is there: digests with sha256: in front,
	// or versions, or declarations as in [Entry]. For a plugin that was added or removed, that
	// of its binary; the other is empty.
	Expected string `json:"expected,omitempty"`
	Found    string `json:"found,omitempty"`
	// Changes are what differs in the definitions of a server's tools, at most 10;
	// More counts the others.
	Changes []Change `json:"changes,omitempty"`
	More    int      `json:"more,omitempty"`
	// Needs are what differs in the needs; of a plugin that was added, Declared is all of them,
	// for people, if it declares any.
	Needs    need.Diff `json:"needs,omitempty"`
	Declared string    `json:"declared,omitempty"`
}

// String returns the difference on one line.
func (d Difference) String() string {
	switch {
	case d.Kind == Added && d.Found == "": // its binary was not read
		return d.Plugin + ": not pinned"
	case d.Kind == Added && d.Declared != "":
		return fmt.Sprintf("%s: not pinned, found %s, which needs: %s", d.Plugin, d.Found, d.Declared)
	case d.Kind == Added:
		return fmt.Sprintf("%s: not pinned, found %s", d.Plugin, d.Found)
	case d.Kind == Needs:
		return fmt.Sprintf("%s: the needs differ from what is pinned: %v", d.Plugin, d.Needs)
	case d.Kind == Removed:
		return fmt.Sprintf("%s: pinned as %s, not found", d.Plugin, cmp.Or(d.Expected, "a binary for another platform"))
	case d.Kind == Unstarted:
		return d.Plugin + ": it did not start, so that its definitions are not compared"
	case d.Kind == Version:
		return fmt.Sprintf("%s: the version is %s, pinned is %s",
			d.Plugin, sanitize.Quote(d.Found, 80), sanitize.Quote(d.Expected, 80))
	case len(d.Changes) > 0:
		return d.Plugin + ": " + d.changes()
	case d.Kind == Identity:
		return fmt.Sprintf("%s: it is %s, pinned is %s", d.Plugin, cmp.Or(d.Found, "a binary"), cmp.Or(d.Expected, "a binary"))
	case d.Kind == Definitions:
		return fmt.Sprintf("%s: the definitions are %s, pinned are %s", d.Plugin, d.Found, d.Expected)
	case d.Expected == "":
		return fmt.Sprintf("%s: the binary is %s, none is pinned for %s", d.Plugin, d.Found, platform)
	}
	return fmt.Sprintf("%s: the %s is %s, pinned is %s", d.Plugin, d.Kind, d.Found, d.Expected)
}

// Compare returns what differs between what is pinned and what is there, sorted by
// plugin. A nil lock has no plugins. In current, a plugin that was not started has no
// digest of its definitions, and none of its binary if that was not read.
func Compare(pinned, current *Lock) []Difference {
	if pinned == nil {
		pinned = &Lock{}
	}
	if current == nil {
		current = &Lock{}
	}
	all := maps.Clone(pinned.Plugins)
	if all == nil {
		all = map[string]Entry{}
	}
	maps.Copy(all, current.Plugins)
	var out []Difference
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if found, ok := current.Plugins[name]; ok {
			out = append(out, pinned.compare(name, found)...)
		} else {
			out = append(out, Difference{Plugin: name, Kind: Removed, Expected: pinned.Plugins[name].what()})
		}
	}
	return out
}

// compare returns what differs between what is pinned of a plugin and what was found.
func (l *Lock) compare(name string, found Entry) (out []Difference) {
	pinned, ok := l.Plugins[name]
	if !ok {
		return []Difference{{Plugin: name, Kind: Added, Found: found.what(), Declared: declared(found.Needs)}}
	}
	examined := found.what() != "" || found.Definitions != ""
	switch {
	case !examined:
	case found.Identity != pinned.Identity:
		out = append(out, Difference{Plugin: name, Kind: Identity, Expected: prefixed(pinned.Identity), Found: prefixed(found.Identity)})
	case found.SHA256 != pinned.SHA256:
		out = append(out, Difference{Plugin: name, Kind: Binary, Expected: prefixed(pinned.SHA256), Found: prefixed(found.SHA256)})
	}
	switch {
	case found.Definitions == "" && len(out) == 0:
		return []Difference{{Plugin: name, Kind: Unstarted}}
	case found.Definitions == "":
		return out
	case found.Definitions != pinned.Definitions:
		d := Difference{Plugin: name, Kind: Definitions, Expected: prefixed(pinned.Definitions), Found: prefixed(found.Definitions)}
		if found.Identity != "" {
			d.Changes, d.More = changesOf(pinned.Tools, found.Tools)
		}
		out = append(out, d)
	}
	if found.Version != pinned.Version && found.Identity == "" {
		out = append(out, Difference{Plugin: name, Kind: Version, Expected: pinned.Version, Found: found.Version})
	}
	if found.Needs != pinned.Needs && found.Needs != "" && pinned.Needs != "" {
		out = append(out, Difference{
			Plugin: name, Kind: Needs, Expected: pinned.Needs, Found: found.Needs, Needs: needsChanges(pinned.Needs, found.Needs),
		})
	}
	return out
}

// what is the digest of what runs; empty: it is not known.
func (e Entry) what() string { return prefixed(cmp.Or(e.Identity, e.SHA256)) }

func prefixed(digest string) string {
	if digest == "" {
		return ""
	}
	return digestPrefix + digest
}

// Render returns one line for each difference.
func Render(all []Difference) string {
	var b strings.Builder
	for _, d := range all {
		b.WriteString(d.String())
		b.WriteByte('\n')
	}
	return b.String()
}
