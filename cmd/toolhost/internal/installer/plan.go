package installer

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Action is what installing a package does.
type Action string

// The actions.
const (
	Install   Action = "install"
	Upgrade   Action = "upgrade"
	Downgrade Action = "downgrade"
	Reinstall Action = "reinstall" // the same version, which is not in place as it was
	Nothing   Action = "none"      // it is in place
)

// Plan is what installing a package does, for people to decide about.
type Plan struct {
	Plugin  string `json:"plugin"`
	Version string `json:"version"`
	// Before is the version that is in place. Empty: none is.
	Before string `json:"before,omitempty"`
	Action Action `json:"action"`
	// Source is the REF of the package, with its digest.
	Source   string `json:"source"`
	Package  string `json:"package"`
	Platform string `json:"platform"`
	SHA256   string `json:"sha256"`
	Size     int64  `json:"size"` // of the file, in bytes
	// Publisher is the name that the operator gave to who signed it. Empty: no trusted one has.
	Publisher string `json:"publisher,omitempty"`
	// Signature says what is known of the signature, for people.
	Signature   string `json:"signature"`
	License     string `json:"license"`
	Description string `json:"description"`
	Tools       []Tool `json:"tools"`
	// Gone are tools of the version before.
	Gone []string `json:"gone,omitempty"`
	// Needs is what its process needs; nil: it does not declare it. NewNeeds is what the version
	// before did not need.
	Needs    *tool.Needs `json:"needs"`
	NewNeeds need.Diff   `json:"new_needs,omitempty"`
	// Notices are what its publisher says of this version since, for people.
	Notices []string `json:"notices,omitempty"`
}

// Tool is a tool of a package.
type Tool struct {
	Name       string          `json:"name"`
	Safety     tool.Safety     `json:"safety"`
	Permission tool.Capability `json:"permission,omitempty"`
	// New says what is new in comparison with the version before. Empty: nothing.
	New string `json:"new,omitempty"`
}

// String returns the plugin and its version.
func (p Plan) String() string { return p.Plugin + " " + p.Version }

func (p Plan) origin() installed.Origin {
	return installed.Origin{
		Name: p.Plugin, Version: p.Version, Source: p.Source, Package: p.Package,
		Platform: p.Platform, SHA256: p.SHA256, Publisher: p.Publisher,
	}
}

// plan judges a package, and compares it with what is in place.
func (i *Installer) plan(w Wish, found *pluginpackage.Package) (Plan, error) {
	m := found.Manifest
	file, err := found.File(Platform)
	if err != nil {
		return Plan{}, unusable(fmt.Errorf("%s %s is not for this machine: %w", m.Name, m.Version, err))
	}
	if !slices.Contains(m.Protocols, wire.ProtocolVersion) {
		spoken := strings.Trim(strings.ReplaceAll(fmt.Sprint(m.Protocols), " ", ", "), "[]")
		return Plan{}, unusable(fmt.Errorf("%s %s speaks version %s of the toolhost protocol, this host version %d",
			m.Name, m.Version, spoken, wire.ProtocolVersion))
	}
	p := Plan{
		Plugin: m.Name, Version: m.Version, Action: Install, Source: w.Ref.Line(found.Digest, m.Name), Package: found.Digest.String(),
		Platform: Platform, SHA256: file.Digest.Encoded(), Size: file.Size, License: m.License, Description: m.Description, Needs: m.Needs,
	}
	if w.Source != "" {
		p.Source = w.Source
	}
	if _, exact := m.Platforms[Platform]; !exact {
		p.Platform = pluginpackage.AnyPlatform
	}
	if w.Name != "" && w.Name != m.Name {
		return p, refused(p, fmt.Sprintf("the package is of another plugin than %s", w.Name), "look at where it came from: "+p.Source)
	}
	if at := i.elsewhere(m.Name); at != "" {
		return p, refused(p, "there is a plugin of this name that toolhost did not install: "+at, "remove that file first, or keep it")
	}
	if err := i.checkTrust(&p, found.Signed); err != nil {
		return p, err
	}
	there, err := i.Dir.Plugin(m.Name)
	if err != nil {
		return p, unusable(err)
	}
	before, ok := there.Current()
	if there.Changed && !w.Force {
		return p, refused(p, "the file in "+i.Dir.PluginDir()+" is not one that toolhost installed", "look at it; to replace it, add --force")
	}
	var was *pluginpackage.Signed
	if ok {
		signed, err := i.Dir.Signed(before)
		if err != nil {
			return p, unusable(err)
		}
		was = &signed
		p.Before = before.Version
	}
	p.compare(m, was)
	return p, p.decide(w, before, was, found.Signed)
}

// PlanKept is the plan of putting a version in place that is kept.
//
// # Errors
//
// [tool.CodePermissionDenied] if the operator's rules refuse it by now; [tool.CodeUnavailable].
func (i *Installer) PlanKept(v installed.Version, s pluginpackage.Signed) (Plan, error) {
	p := Plan{
		Plugin: v.Name, Version: v.Version, Action: Nothing, Source: v.Source, Package: v.Package, Platform: v.Platform, SHA256: v.SHA256,
		License: s.Manifest.License, Description: s.Manifest.Description, Needs: s.Manifest.Needs,
	}
	if err := i.checkTrust(&p, s); err != nil {
		return p, err
	}
	there, err := i.Dir.Plugin(v.Name)
	if err != nil {
		return p, unusable(err)
	}
	said, err := i.Dir.Said(v.Name)
	if err != nil {
		return p, unusable(err)
	}
	p.Notices = said.Of(v.Version)
	p.compare(s.Manifest, nil)
	if before, ok := there.Current(); ok {
		p.Before = before.Version
	}
	if !v.Current {
		p.Action = Reinstall
		if c := pluginsource.CompareVersions(v.Version, p.Before); p.Before != "" && c < 0 {
			p.Action = Downgrade
		} else if c > 0 {
			p.Action = Upgrade
		}
	}
	return p, nil
}

// decide says what the package does to what is in place, or why it may not.
func (p *Plan) decide(w Wish, before installed.Version, was *pluginpackage.Signed, now pluginpackage.Signed) error {
	ok := was != nil
	locked, pinned := lockfile.Entry{}, false
	files := map[string]string{}
	if w.Pinned != nil {
		locked, pinned = w.Pinned.Plugins[p.Plugin]
		files = w.Pinned.Files(p.Plugin)
	}
	other := ok && before.Version == p.Version && before.Package != p.Package ||
		pinned && locked.Version == p.Version && locked.SHA256 != "" && locked.SHA256 != p.SHA256
	if file := files[p.Platform]; pinned && locked.Version == p.Version && file != "" && file != p.SHA256 {
		other = true
	}
	last := before.Version
	if !ok && pinned && pluginsource.IsVersion(locked.Version) {
		last = locked.Version
	}
	signed, another := p.Signature, false
	if ok && was.Key() != "" && !now.SignedBy(was.Key()) {
		another = p.Publisher == "" // whom the operator trusts may change its key
		p.Signature += fmt.Sprintf("; version %s was signed with key %s", before.Version, was.Key())
	}
	switch {
	case other && !w.Force:
		return refused(*p, fmt.Sprintf("version %s was published twice: what is installed or pinned has other bytes than the package at %s", p.Version, p.Source),
			"ask its publisher; to take this one, add --force")
	case last != "" && pluginsource.CompareVersions(p.Version, last) < 0 && !w.Downgrade:
		return refused(*p, fmt.Sprintf("it is older than %s, which is installed or pinned", last), "to go back to it, add --downgrade")
	case ok && before.Publisher != "" && p.Publisher == "" && !w.Force:
		return refused(*p, fmt.Sprintf("%s, and version %s was signed by %s", signed, before.Version, before.Publisher),
			"ask its publisher; to take it without, add --force")
	case another && !w.Force:
		return refused(*p, p.Signature, "ask its publisher; to take it all the same: toolhost plugins install "+p.Source+" --force")
	}
	switch {
	case ok && before.Package == p.Package && before.SHA256 == p.SHA256:
		p.Action = Nothing
	case ok && before.Version == p.Version:
		p.Action = Reinstall
	case last != "" && pluginsource.CompareVersions(p.Version, last) < 0:
		p.Action = Downgrade
	case ok:
		p.Action = Upgrade
	}
	return nil
}

// compare notes what is new in comparison with the version before; nil: there is none.
func (p *Plan) compare(m pluginpackage.Manifest, was *pluginpackage.Signed) {
	before := map[string]tool.Definition{}
	if was != nil {
		for _, d := range was.Manifest.Definitions {
			before[d.Name] = d
		}
	}
	for _, d := range m.Definitions {
		t := Tool{Name: d.Name, Safety: d.Safety.Effective(), Permission: d.Permission}
		old, known := before[d.Name]
		delete(before, d.Name)
		switch {
		case was == nil:
		case !known:
			t.New = "new"
		case old.Safety.Effective() != d.Safety.Effective() || old.Permission != d.Permission:
			t.New = fmt.Sprintf("was %s", describe(old.Safety.Effective(), old.Permission))
		}
		p.Tools = append(p.Tools, t)
	}
	p.Gone = slices.Sorted(maps.Keys(before))
	if was != nil {
		p.NewNeeds = need.Changes(m.Needs, was.Manifest.Needs).Larger()
	}
}

func describe(s tool.Safety, c tool.Capability) string {
	if c == "" {
		return s.String()
	}
	return s.String() + ", " + string(c)
}

// checkTrust goes by what the operator says of publishers.
func (i *Installer) checkTrust(p *Plan, s pluginpackage.Signed) error {
	ref := p.Source
	if parsed, err := pluginsource.Parse(ref); err == nil { // else it is a file that is gone
		ref = parsed.Place
	}
	publisher, err := i.trust.publishers.CheckSigned(s)
	switch {
	case err == nil:
		if !i.trust.publishers[publisher].MayComeFrom(ref) {
			return refused(*p, fmt.Sprintf("publisher %s may not be installed from %s", publisher, ref), "see trust.publishers in toolhost.yaml: sources")
		}
		p.Publisher, p.Signature = publisher, "signed by "+publisher
	case errors.Is(err, pluginpackage.ErrUnsigned):
		p.Signature = "not signed"
	case errors.Is(err, pluginpackage.ErrUnknownKey):
		p.Signature = "signed with key " + s.Key() + ", of no publisher that you trust"
	default: // whatever the operator demands: someone has changed it, or it goes too far
		return refused(*p, err.Error(), "ask its publisher, or install another version")
	}
	if i.trust.required && p.Publisher == "" {
		return refused(*p, "trust.required is set, and "+err.Error(), "install a version that a trusted publisher has signed, or see trust: in toolhost.yaml")
	}
	return nil
}

func refused(p Plan, why, hint string) error {
	return tool.Errorf(tool.CodePermissionDenied, "%s was not installed: %s", p, sanitize.Line(why, 1000)).
		Of("", p.Plugin).Try(hint)
}

func isFull(err error) bool { return safefile.IsFull(err) }

// Text shows the plan to the person who decides.
func (p Plan) Text() string {
	var b strings.Builder
	line := func(what, format string, args ...any) {
		fmt.Fprintf(&b, "  %-11s %s\n", what, sanitize.Line(fmt.Sprintf(format, args...), 1000))
	}
	what := map[Action]string{
		Install: "is new", Upgrade: "replaces " + p.Before, Downgrade: "replaces " + p.Before + ", which is newer",
		Reinstall: "replaces the files of the same version", Nothing: "is installed",
	}[p.Action]
	fmt.Fprintf(&b, "%s %s: %d KiB for %s\n", p, strings.Replace(what, "replaces ,", "is older than what is pinned,", 1), (p.Size+1023)/1024, p.Platform)
	line("what:", "%s", output.FirstLine(p.Description))
	line("from:", "%s", p.Source)
	line("signature:", "%s", p.Signature)
	for _, notice := range p.Notices {
		line("notice:", "%s", notice)
	}
	line("licence:", "%s", p.License)
	for n, t := range p.Tools {
		head := ""
		if n == 0 {
			head = "tools:"
		}
		text := fmt.Sprintf("%s (%s)", t.Name, describe(t.Safety, t.Permission))
		if t.New != "" {
			text += "  <- " + t.New
		}
		line(head, "%s", text)
	}
	if len(p.Gone) > 0 {
		line("no longer:", "%s", strings.Join(p.Gone, ", "))
	}
	line("needs:", "%s", p.Needs.String())
	if len(p.NewNeeds) > 0 {
		line("new needs:", "%s", p.NewNeeds.String())
	}
	return b.String()
}
