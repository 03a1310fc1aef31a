package installer

import (
	"context"
	"errors"
	"slices"

	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// hear keeps and returns what a source says of a plugin, of which there is a version, or was. Where earlier
// notices are served, or none, those that were seen count: a mirror may be old, and a server may hold them
// back.
//
// # Errors
//
// [tool.CodePermissionDenied] if notices are not signed as the version is; [tool.CodeUnavailable].
func (i *Installer) hear(from *pluginsource.Source, s pluginpackage.Signed, there bool) (installed.Said, error) {
	name, version := s.Manifest.Name, s.Manifest.Version
	said, err := i.Dir.Said(name)
	if err != nil {
		return said, unusable(err)
	}
	keys := []string{s.Key()}
	if publisher, _ := i.trust.publishers.CheckSigned(s); publisher != "" {
		keys = i.trust.publishers[publisher].Keys
	}
	valid := func(n pluginpackage.Sealed) bool { return s.Signature == nil || n.SignedBy(keys) }
	if !valid(said.Notices) { // as they are of another plugin of this name
		said.Notices = pluginpackage.Sealed{}
	}
	now, err := from.Notices.Parse()
	seen, _ := said.Notices.Parse()
	switch {
	case err != nil:
		return said, unusable(err)
	case now.Serial > 0 && (now.Plugin != name || !valid(from.Notices)):
		return said, tool.Errorf(tool.CodePermissionDenied, "%s has notices that are not signed as %s %s is: they were changed on the way, "+
			"or are another plugin's", from.Ref.Place, name, version).Of("", name).Try("ask its publisher")
	case now.Serial > seen.Serial:
		said.Notices = from.Notices
	}
	switch {
	case !there:
		said.Gone = version
	case said.Gone == version:
		said.Gone = ""
	}
	if err := i.Dir.Hear(name, said); err != nil {
		return said, unusable(err)
	}
	return said, nil
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
// tag that is followed, it is that one.
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
	signed, bad := i.Dir.Signed(v)
	if err = errors.Join(err, bad); err != nil {
		return out, unusable(err)
	}
	single := ref.Kind == pluginsource.File || ref.Kind == pluginsource.WebFile
	said, err := i.hear(source, signed, single || ref.Tag != "" || // which have no list of versions
		slices.ContainsFunc(all, func(one pluginsource.Version) bool { return one.Version == v.Version }))
	if err != nil {
		return out, err
	}
	out.Version, out.Notices = v.Version, said.Of(v.Version)
	if newest, ok := pluginsource.Newest(all); ok && ref.Tag == "" {
		out.Version = newest.Version
	} else if single || ref.Tag != "" {
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
