package pluginpackage

import (
	"cmp"
	"encoding/json"
	"fmt"
	"slices"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// MaxNotices bounds the notices of a plugin, in bytes.
const MaxNotices = 1 << 20

// EveryVersion is the key in [Notices.Versions] of what is said of all.
const EveryVersion = "*"

// Notice is what a publisher says of a version that is out. An empty text says nothing.
type Notice struct {
	// Yanked says why it is not to be installed any more.
	Yanked string `json:"yanked,omitempty"`
	// Deprecated says what to use in its place.
	Deprecated string `json:"deprecated,omitempty"`
	// Advisory says what is wrong with it.
	Advisory string `json:"advisory,omitempty"`
}

// Lines are the notice for people.
func (n Notice) Lines() (out []string) {
	for _, one := range [][2]string{{"withdrawn", n.Yanked}, {"deprecated", n.Deprecated}, {"advisory", n.Advisory}} {
		if one[1] != "" {
			out = append(out, one[0]+": "+sanitize.Line(one[1], 500))
		}
	}
	return out
}

// Notices are what a publisher says of the versions of a plugin. They are not in packages, whose bytes do
// not change, and are signed as a whole: whoever serves them can neither add one nor take one away.
type Notices struct {
	// SchemaVersion is [SchemaVersion].
	SchemaVersion int    `json:"schema_version"`
	Plugin        string `json:"plugin"`
	// Serial is larger by one after each change, so that earlier ones do not count where later ones were seen.
	Serial   int64             `json:"serial"`
	Versions map[string]Notice `json:"versions"`

	sealed Sealed
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
	n.sealed = s
	switch {
	case s.Text == "":
		return n, nil
	case len(s.Text)+len(s.Signature) > MaxNotices:
		return n, fmt.Errorf("the notices have more than %d bytes", MaxNotices)
	}
	if err = checkMembers([]byte(s.Text)); err == nil {
		err = decodeStrict([]byte(s.Text), &n)
	}
	if err == nil && (n.SchemaVersion != SchemaVersion || n.Serial < 1) {
		err = fmt.Errorf("schema version %d and serial %d, expected %d, and 1 or more", n.SchemaVersion, n.Serial, SchemaVersion)
	}
	if err != nil {
		return Notices{}, fmt.Errorf("the notices are malformed: %w", err)
	}
	return n, nil
}

// Seal writes notices that have changed. Without a key they are not signed.
//
// # Errors
//
// A plain error if they are too large.
func (n Notices) Seal(key *minisign.PrivateKey) (Sealed, error) {
	n.SchemaVersion, n.Serial = SchemaVersion, n.Serial+1
	text, err := json.MarshalIndent(n, "", "  ")
	if err != nil {
		return Sealed{}, err
	}
	s := Sealed{Text: string(text)}
	if key != nil {
		about := Manifest{Name: n.Plugin, Version: fmt.Sprintf("notices %d", n.Serial)}
		s.Signature = string(Sign(*key, Signed{Manifest: about, Text: text}))
	}
	_, err = s.Parse()
	return s, err
}

// Sealed are the notices as they were read.
func (n Notices) Sealed() Sealed { return n.sealed }

// SignedBy reports whether one of these keys has signed them, as [Signed.SignedBy] says.
func (n Notices) SignedBy(keys []string) bool {
	return slices.ContainsFunc(keys, Signed{Text: []byte(n.sealed.Text), Signature: []byte(n.sealed.Signature)}.SignedBy)
}

// Of returns what is said of a version.
func (n Notices) Of(version string) Notice {
	one, all := n.Versions[version], n.Versions[EveryVersion]
	return Notice{cmp.Or(one.Yanked, all.Yanked), cmp.Or(one.Deprecated, all.Deprecated), cmp.Or(one.Advisory, all.Advisory)}
}
