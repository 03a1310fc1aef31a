package installer

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// notices returns what the publisher of a package says of the plugin's versions, and keeps it. Where
// earlier notices are served, or none, those that were seen count: a mirror may be old, and a server may
// hold them back.
//
// # Errors
//
// [tool.CodePermissionDenied] if they are not signed as the package is; [tool.CodeUnavailable].
func (i *Installer) notices(ctx context.Context, from *pluginsource.Source, s pluginpackage.Signed) (pluginpackage.Notices, error) {
	now, err := from.Notices(ctx)
	said, bad := i.Dir.Said(s.Manifest.Name)
	seen, worse := said.Notices.Parse()
	if err = errors.Join(err, bad, worse); err != nil {
		return now, unusable(err)
	}
	keys := []string{s.Key()}
	if publisher, _ := i.trust.publishers.CheckSigned(s); publisher != "" {
		keys = i.trust.publishers[publisher].Keys
	}
	valid := func(n pluginpackage.Notices) bool {
		return n.Plugin == s.Manifest.Name && (s.Signature == nil || n.SignedBy(keys))
	}
	if !valid(seen) { // as they are of a plugin of this name that was not installed
		seen = pluginpackage.Notices{}
	}
	switch {
	case now.Serial == 0:
		now = seen
	case !valid(now):
		return now, tool.Errorf(tool.CodePermissionDenied, "%s has notices that are not signed as %s %s is: they were changed on the way, "+
			"or are another plugin's", from.Ref.Place, s.Manifest.Name, s.Manifest.Version).Of("", s.Manifest.Name).Try("ask its publisher")
	case now.Serial < seen.Serial:
		now = seen
	}
	said.Notices = now.Sealed()
	return now, i.Dir.Hear(s.Manifest.Name, said)
}

// Release is what there is of an installed plugin where it came from.
type Release struct {
	// Version is the newest release, and Newer says that it is newer than what is installed.
	Version string
	Newer   bool
	// Notices are what is to be known of the version that is installed.
	Notices []string
}

// Newest returns the newest release where a version came from. If there is only one package, or a
// tag that is followed, it is that one. What is said of the version that is installed is kept.
//
// # Errors
//
// [tool.CodeUnavailable]; [tool.CodePermissionDenied] if notices are not signed as the version is.
func (i *Installer) Newest(ctx context.Context, v installed.Version) (out Release, err error) {
	ref, err := pluginsource.Parse(v.Source)
	if err != nil {
		return out, unusable(err)
	}
	source, err := i.Source(ctx, ref.Follow())
	if err != nil {
		return out, err
	}
	defer func() { _ = source.Close() }()
	all, err := source.Versions(ctx)
	if err != nil {
		return out, unusable(err)
	}
	signed, err := i.Dir.Signed(v)
	if err != nil {
		return out, unusable(err)
	}
	if _, err = i.notices(ctx, source, signed); err != nil {
		return out, err
	}
	if out.Notices, err = i.heard(ref, v, all); err != nil {
		return out, err
	}
	single := ref.Kind == pluginsource.File || ref.Kind == pluginsource.WebFile
	if newest, ok := pluginsource.Newest(all); ok && ref.Tag == "" {
		out.Version = newest.Version
	} else if out.Version = v.Version; single || ref.Tag != "" {
		found, err := source.Find(ctx, "")
		if err != nil {
			return out, unusable(err)
		}
		out.Version = found.Manifest.Version
	}
	out.Newer = pluginsource.CompareVersions(out.Version, v.Version) > 0
	if single && !out.Newer {
		i.session.Notef("%s %s came from one file, %s, which has no newer version, and others are not looked for: "+
			"to follow releases, install it from a directory with an index.json, or a registry", v.Name, v.Version, ref.Place)
	}
	return out, nil
}

// heard keeps whether a version is still there, and returns what is known of it.
func (i *Installer) heard(ref pluginsource.Ref, v installed.Version, all []pluginsource.Version) ([]string, error) {
	said, err := i.Dir.Said(v.Name)
	if err != nil {
		return nil, unusable(err)
	}
	said.Gone = v.Version
	for _, one := range all {
		if one.Version == v.Version {
			said.Gone = ""
		}
	}
	if ref.Tag != "" || ref.Kind == pluginsource.File || ref.Kind == pluginsource.WebFile {
		said.Gone = "" // what has no list of versions
	}
	out, err := said.Of(v.Version)
	return out, errors.Join(err, i.Dir.Hear(v.Name, said))
}

// judge notes what is said of the version of a plan, and refuses one that was withdrawn, unless it is there.
func (p *Plan) judge(n pluginpackage.Notice, force bool) error {
	if p.Notices = n.Lines(); n.Yanked == "" || force || p.Action == Nothing {
		return nil
	}
	return refused(*p, fmt.Sprintf("its publisher has withdrawn version %s: %s", p.Version, n.Yanked), "install another version; to take it anyway, add --force")
}
