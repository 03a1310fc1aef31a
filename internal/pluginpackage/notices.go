package pluginpackage

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// EveryVersion is the key in [Notices.Versions] of what is said of all.
const EveryVersion = "*"

// Yanked is the kind of notice with which a version is not installed any more. Others are only told.
const Yanked = "yanked"

// Notice is what a publisher says of a version that is out, by kind: yanked, deprecated, advisory.
type Notice map[string]string

// Lines are the notice for people.
func (n Notice) Lines() (out []string) {
	for _, kind := range slices.Sorted(maps.Keys(n)) {
		out = append(out, sanitize.Line(kind, 40)+": "+sanitize.Line(n[kind], 500))
	}
	return out
}

// Notices are what a publisher says of the versions of a plugin. They are not in packages, whose bytes do
// not change, and are signed as a whole: whoever serves them can neither add one nor take one away.
type Notices struct {
	Plugin string `json:"plugin"`
	// Serial is larger by one after each change, so that earlier ones do not count where later ones were seen.
	Serial   int64             `json:"serial"`
	Versions map[string]Notice `json:"versions"`
}

// Sealed are notices as they were written.
type Sealed struct {
	Text string `json:"text,omitempty"`
	// Signature is the one that minisign makes of the text. Empty: it is not signed.
	Signature string `json:"signature,omitempty"`
}

// Parse reads notices. Without a text there are none.
//
// # Errors
//
// A plain error for the first thing that is wrong.
func (s Sealed) Parse() (n Notices, err error) {
	if s.Text == "" {
		return n, nil
	}
	if err = checkMembers([]byte(s.Text)); err == nil {
		err = jsontree.Strict([]byte(s.Text), &n)
	}
	if err == nil && n.Serial < 1 {
		err = fmt.Errorf("serial %d, expected 1 or more", n.Serial)
	}
	if err != nil {
		return Notices{}, fmt.Errorf("the notices are malformed: %w", err)
	}
	return n, nil
}

// Seal writes notices that have changed. Without a key they are not signed.
func (n Notices) Seal(key *minisign.PrivateKey) (Sealed, error) {
	n.Serial++
	text, err := json.MarshalIndent(n, "", "  ")
	s := Sealed{Text: string(text)}
	if key != nil {
		about := Manifest{Name: n.Plugin, Version: fmt.Sprintf("notices %d", n.Serial)}
		s.Signature = string(Sign(*key, Signed{Manifest: about, Text: text}))
	}
	return s, err
}

// SignedBy reports whether one of these keys has signed them, as [Signed.SignedBy] says.
func (s Sealed) SignedBy(keys []string) bool {
	return slices.ContainsFunc(keys, Signed{Text: []byte(s.Text), Signature: []byte(s.Signature)}.SignedBy)
}

// Of returns what is said of a version.
func (n Notices) Of(version string) Notice {
	out := maps.Clone(n.Versions[EveryVersion])
	if out == nil {
		return n.Versions[version]
	}
	maps.Copy(out, n.Versions[version])
	return out
}
