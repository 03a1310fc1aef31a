// Package installer finds packages of plugins, judges them by what the operator trusts, and makes
// them ready to be put in place. Begin with [Open].
package installer

import (
	"context"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"runtime"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/installed"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Platform is that of this process, as packages have it.
const Platform = runtime.GOOS + "/" + runtime.GOARCH

// Installer installs plugins for one command. It has the directory of what is installed for itself.
type Installer struct {
	Dir     *installed.Dir
	session *session.Session
	trust   trust
}

// trust is what the operator says of publishers.
type trust struct {
	required   bool
	publishers pluginpackage.Publishers
}

// Open opens the directory of what is installed, and waits for others that change it. Doing is what
// they are shown meanwhile.
//
// # Errors
//
// [*exit.Error] if there is no place for it; [tool.CodeUnavailable] if it cannot be used.
func Open(ctx context.Context, s *session.Session, doing string) (*Installer, error) {
	dir := s.Settings().InstallDir()
	if dir == "" {
		return nil, exit.Usage("there is no place to install plugins to: the system does not say where the user's data is",
			"name a directory: install_dir in the configuration, or "+session.InstallVariable)
	}
	d, err := installed.Open(dir)
	if err != nil {
		return nil, unusable(err)
	}
	err = d.Lock(ctx, doing, func(holder string) {
		s.Notef("waiting for %s, which is installing plugins, too", sanitize.Line(holder, 400))
	})
	if err != nil {
		return nil, errors.Join(unusable(err), d.Close())
	}
	downloads, _ := d.Downloads()
	if err := pluginsource.Sweep(downloads); err != nil {
		return nil, errors.Join(unusable(err), d.Close())
	}
	return &Installer{Dir: d, session: s, trust: trustOf(s.Settings().Config)}, nil
}

// Close lets others change the directory.
func (i *Installer) Close() error { return i.Dir.Close() }

func unusable(err error) error {
	return tool.Errorf(tool.CodeUnavailable, "%w", err)
}

// Wish says which package is wanted.
type Wish struct {
	Ref pluginsource.Ref
	// Version is the one that is wanted. Empty: what the REF says, or the newest release.
	Version string
	// Name is the plugin that the package has to be of. Empty: any.
	Name string
	// Source is where the package is by the lock, if it is taken from a mirror. Empty: it is Ref.
	Source string
	// Downgrade allows a version below the one before. Force allows other bytes of the same
	// version, a package without the signature that the one before had, and one that was withdrawn.
	Downgrade, Force bool
	// Pinned is what the lock has of plugins. Nil: nothing is pinned.
	Pinned *lockfile.Lock
}

// Candidate is a package that may be installed.
type Candidate struct {
	*pluginsource.Found
	Plan   Plan
	source *pluginsource.Source
}

// Close closes the source of the package.
func (c *Candidate) Close() error { return c.source.Close() }

// Source opens the source of a REF.
//
// # Errors
//
// [tool.CodeUnavailable].
func (i *Installer) Source(ctx context.Context, ref pluginsource.Ref) (*pluginsource.Source, error) {
	downloads, path := i.Dir.Downloads()
	s, err := pluginsource.Open(ctx, ref, pluginsource.Options{Dir: downloads, Path: path, Progress: i.progress()})
	if err != nil {
		return nil, unusable(err)
	}
	return s, nil
}

// Find finds the package of a wish, and judges it. Nothing changes.
//
// # Errors
//
// [tool.CodePermissionDenied] if the operator's rules, or caution, refuse it;
// [tool.CodeUnavailable] if it cannot be had, or is damaged.
func (i *Installer) Find(ctx context.Context, w Wish) (_ *Candidate, err error) {
	source, err := i.Source(ctx, w.Ref)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			_ = source.Close()
		}
	}()
	found, err := source.Find(ctx, w.Version)
	if err != nil {
		return nil, unusable(err)
	}
	c := &Candidate{Found: found, source: source}
	if c.Plan, err = i.plan(w, found.Package); err != nil {
		return nil, err
	}
	said, err := i.hear(source, found.Signed, true)
	if err != nil {
		return nil, err
	}
	c.Plan.Notices = said.Of(c.Plan.Version)
	n, _ := said.Notices.Parse()
	if why := n.Of(c.Plan.Version)[pluginpackage.Yanked]; why != "" && c.Plan.Action != Nothing && !w.Force {
		return nil, refused(c.Plan, "its publisher has withdrawn it: "+why, "install another version, or add --force")
	}
	return c, nil
}

// Prepare fetches the plugin's file and makes the version ready to be put in place. Nothing that is
// served changes.
//
// # Errors
//
// [tool.CodeUnavailable]; [tool.CodeResourceExhausted] if the disk is full.
func (i *Installer) Prepare(ctx context.Context, c *Candidate) (*installed.Prepared, error) {
	if v, ok := i.kept(c.Plan); ok {
		if p, err := i.Dir.PrepareKept(v); err == nil {
			return p, nil
		} // else it is fetched again
	}
	file, err := c.File(Platform)
	if err != nil {
		return nil, unusable(err)
	}
	downloads, _ := i.Dir.Downloads()
	name := "binary-" + file.Digest.Encoded() + pluginsource.Part
	if err := c.Blobs.Save(ctx, file, downloads, name); err != nil {
		return nil, broken(ctx, "the file of "+c.Plan.String()+" cannot be fetched", err)
	}
	p, err := i.Dir.Prepare(c.Plan.origin(), c.Signed, name)
	if err != nil {
		return nil, broken(ctx, "nothing was installed", err)
	}
	return p, nil
}

// kept returns the version of a plan if it is there already.
func (i *Installer) kept(p Plan) (installed.Version, bool) {
	there, err := i.Dir.Plugin(p.Plugin)
	if err != nil {
		return installed.Version{}, false
	}
	v, ok := there.Find(p.Version)
	return v, ok && v.Package == p.Package && v.SHA256 == p.SHA256
}

// broken is the error of what failed while nothing had changed yet.
func broken(ctx context.Context, what string, err error) error {
	if ctx.Err() != nil {
		return tool.Errorf(tool.CodeCanceled, "%s: %w; nothing has changed", what, ctx.Err())
	}
	e := tool.Errorf(tool.CodeUnavailable, "%s: %w; nothing has changed", what, err)
	if isFull(err) {
		e.Code, e.Hint = tool.CodeResourceExhausted, "make space there: the disk, or what this user may use of it, is full"
	}
	return e
}

// elsewhere returns the path of a plugin of that name in a directory that toolhost does not install
// to; empty: there is none.
func (i *Installer) elsewhere(name string) string {
	dirs := i.session.Settings().Dirs
	for _, dir := range dirs.Paths {
		if dir == dirs.Installed {
			continue
		}
		entries, err := os.ReadDir(dir)
		if err != nil && !errors.Is(err, fs.ErrNotExist) {
			continue // it is a fault of that directory
		}
		for _, e := range entries {
			if !e.IsDir() && pluginrun.NameOf(e.Name()) == name {
				return filepath.Join(dir, e.Name())
			}
		}
	}
	return ""
}
