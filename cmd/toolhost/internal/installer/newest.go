package installer

import (
	"context"

	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/pluginsource"
)

// Newest returns the newest release where a version came from. If there is only one package, or a
// tag that is followed, it is that one.
//
// # Errors
//
// [tool.CodeUnavailable].
func (i *Installer) Newest(ctx context.Context, v installed.Version) (version string, newer bool, err error) {
	ref, err := pluginsource.Parse(v.Source)
	if err != nil {
		return "", false, unusable(err)
	}
	source, err := i.Source(ctx, ref.Follow())
	if err != nil {
		return "", false, err
	}
	defer func() { _ = source.Close() }()
	all, err := source.Versions(ctx)
	if err != nil {
		return "", false, unusable(err)
	}
	if newest, ok := pluginsource.Newest(all); ok && ref.Tag == "" {
		return newest.Version, pluginsource.CompareVersions(newest.Version, v.Version) > 0, nil
	}
	if len(all) > 0 && ref.Tag == "" { // none is a release
		return v.Version, false, nil
	}
	found, err := source.Find(ctx, "")
	if err != nil {
		return "", false, unusable(err)
	}
	at := found.Manifest.Version
	return at, pluginsource.CompareVersions(at, v.Version) > 0, nil
}
