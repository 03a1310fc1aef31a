package pluginpackage

import (
	"errors"
	"fmt"
	"maps"
	"path"
	"slices"
	"strings"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Publishers are those whom the operator trusts, by the names that the operator gives them.
type Publishers map[string]Publisher

// Publisher is whom you trust to publish plugins, and with what.
type Publisher struct {
	// Keys are its public keys: the line of minisign.pub that begins with RW. Several let it change its key.
	Keys []string `json:"keys" is:"minisign" minItems:"1" maxItems:"100" example:"RWTIoFL5WYgZ5h7tO+DRuvyX7wmHHHLYCN3+RMWBzFA3NQtiXHu0T2bz"`
	// Plugins are the names of the plugins that it may publish. * stands for any characters.
	//
	// Required, so that a publisher cannot put its plugin in place of another's unless the operator says so.
	Plugins []string `json:"plugins" is:"tools" minItems:"1" example:"acme-*"`
	// Sources are where its packages may be installed from. * stands for any characters but a slash, and /** at the
	// end for everything below. Default: anywhere.
	Sources []string `json:"sources,omitempty" is:"source" example:"oci://ghcr.io/acme/*"`
	// MaxSafety is the highest level that its tools may declare: safe, cautious or dangerous.
	MaxSafety tool.Safety `json:"max_safety,omitempty" default:"dangerous" example:"cautious"`
	// Permissions are the capabilities that its tools may ask of callers. Default: any.
	Permissions []tool.Capability `json:"permissions,omitzero" is:"capability" minItems:"0" example:"fs:read"`
	// Needs are what its plugins may declare to need, as under sandbox; what is not listed here they may
	// not need. With it, a plugin that does not declare its needs is refused. Default: anything.
	Needs *tool.Needs `json:"needs,omitempty" is:"need" without:"memory,cpu"`
}

// Check returns the publisher who signed a package, if it is one of them, the signature is right
// and the package declares no more than that publisher may.
//
// # Errors
//
// [ErrUnsigned], [ErrMalformed], [ErrUnknownKey], [ErrWrong], [ErrExceeds], each wrapped in a
// plain error that names the plugin and what to do.
func (all Publishers) Check(p *Package) (publisher string, err error) {
	return all.CheckSigned(p.Signed)
}

// CheckSigned is [Publishers.Check] of a manifest and its signature.
//
// # Errors
//
// Those of [Publishers.Check].
func (all Publishers) CheckSigned(s Signed) (publisher string, err error) {
	bad := func(err error, format string, args ...any) error {
		return fmt.Errorf("%s %s: %w%s", s.Manifest.Name, s.Manifest.Version, err, fmt.Sprintf(format, args...))
	}
	id, err := s.Signer()
	if err != nil {
		return "", bad(err, "")
	}
	known := false
	for _, name := range slices.Sorted(maps.Keys(all)) {
		for _, text := range all[name].Keys {
			var key minisign.PublicKey
			if key.UnmarshalText([]byte(text)) != nil || key.ID() != id {
				continue
			}
			known = true
			if !minisign.Verify(key, s.Text, s.Signature) {
				continue
			}
			if over := all[name].exceeded(s.Manifest); len(over) > 0 {
				return "", bad(ErrExceeds, ", %s: %s", name, strings.Join(over, "; "))
			}
			return name, nil
		}
	}
	if known {
		return "", bad(ErrWrong, ": the manifest was changed after it was signed, or the signature belongs to another one")
	}
	return "", bad(ErrUnknownKey, ", %s: if you trust its owner, add the public key of that ID below trust.publishers: NAME: {keys: [KEY], plugins: [%s]}",
		KeyID(id), s.Manifest.Name)
}

// exceeded lists what a manifest declares beyond what its publisher may.
func (p Publisher) exceeded(m Manifest) []string {
	var out []string
	if !slices.ContainsFunc(p.Plugins, func(glob string) bool { return matches(glob, m.Name) }) {
		out = append(out, fmt.Sprintf("it may publish %s, and not %s", strings.Join(p.Plugins, ", "), m.Name))
	}
	for _, d := range m.Definitions {
		if limit := p.MaxSafety.Effective(); d.Safety.Effective() > limit {
			out = append(out, fmt.Sprintf("tool %s is %s, above %s", d.Name, d.Safety.Effective(), limit))
		}
	}
	for _, c := range m.Permissions() {
		if p.Permissions != nil && !slices.Contains(p.Permissions, c) {
			out = append(out, fmt.Sprintf("its tools ask callers for %s", c))
		}
	}
	if p.Needs != nil {
		for _, c := range need.Changes(m.Needs, p.Needs).Larger() {
			if c.Line == "" {
				out = append(out, "it does not declare what it needs")
				continue
			}
			out = append(out, fmt.Sprintf("it needs %s %s", c.Line, sanitize.Line(c.Is, 200)))
		}
	}
	const most = 10
	if more := len(out) - most; more > 0 {
		out = append(out[:most], fmt.Sprintf("and %d more", more))
	}
	return out
}

// MayComeFrom reports whether packages may be installed from a source.
func (p Publisher) MayComeFrom(source string) bool {
	return len(p.Sources) == 0 || slices.ContainsFunc(p.Sources, func(glob string) bool {
		if above, ok := strings.CutSuffix(glob, "/**"); ok {
			// The pattern has so many elements, and what is below has more.
			n, parts := strings.Count(above, "/")+1, strings.Split(source, "/")
			return len(parts) > n && !slices.Contains(parts, "..") && matches(above, strings.Join(parts[:n], "/"))
		}
		return matches(glob, source)
	})
}

func matches(glob, s string) bool {
	ok, err := path.Match(glob, s)
	return ok && err == nil
}

// Validate returns an error for the first thing that is wrong with what the operator wrote.
//
// # Errors
//
// A plain error that names the publisher.
func (all Publishers) Validate() error {
	owners := map[uint64]string{}
	for _, name := range slices.Sorted(maps.Keys(all)) {
		if err := all[name].validate(name, owners); err != nil {
			return fmt.Errorf("publisher %s: %w", sanitize.Line(name, 100), err)
		}
	}
	return nil
}

// validate checks a publisher, and that its keys are those of no other.
func (p Publisher) validate(name string, owners map[uint64]string) error {
	if len(p.Keys) == 0 {
		return errors.New("it has no keys: give the line of its minisign.pub that begins with RW")
	}
	for _, text := range p.Keys {
		var key minisign.PublicKey
		if err := key.UnmarshalText([]byte(text)); err != nil {
			return fmt.Errorf("%s is not a public key of minisign: give the line of minisign.pub that begins with RW", sanitize.Quote(text, 100))
		}
		if owner, ok := owners[key.ID()]; ok {
			return fmt.Errorf("key %s is that of publisher %s too", KeyID(key.ID()), owner)
		}
		owners[key.ID()] = name
	}
	if len(p.Plugins) == 0 {
		return errors.New("it has no plugins: list the names that it may publish; '*' is every name")
	}
	for _, glob := range slices.Concat(p.Plugins, p.Sources) {
		if _, err := path.Match(glob, ""); glob == "" || err != nil {
			return fmt.Errorf("%s is not a pattern", sanitize.Quote(glob, 100))
		}
	}
	for _, c := range p.Permissions {
		if !c.Valid() {
			return fmt.Errorf("%s is not a capability: use word:word, such as fs:read", sanitize.Quote(string(c), 100))
		}
	}
	return egress.CheckNeeds(p.Needs)
}
