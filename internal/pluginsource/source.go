// Package pluginsource finds packages of plugins in registries, on web servers and in files, and
// fetches them. Begin with [Parse] and [Open].
//
// Servers are strangers. What they send is bounded before it is read, and checked while it is; one
// that cuts off is asked to go on, one that stalls is given up on, and none leads to another with
// credentials, without TLS, or into this machine's own network.
package pluginsource

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Options are what a source is opened with.
type Options struct {
	// Dir is where files are fetched to, and Path its path. See [Sweep].
	Dir  *os.Root
	Path string
	// Progress is told how much of what was fetched. Nil: there is no such function.
	Progress func(what string, done, size int64)
}

func (o Options) progress(what string) func(done, size int64) {
	if o.Progress == nil {
		return nil
	}
	return func(done, size int64) { o.Progress(what, done, size) }
}

// Source is where packages are. It is for one goroutine.
type Source struct {
	Ref Ref
	// Notices are what the publisher says of versions, by what the source says.
	Notices pluginpackage.Sealed
	keeper  keeper
}

// keeper is what has packages, by the kind of the source.
type keeper interface {
	// versions returns the versions that there are, in any order. Those of one package that
	// nothing is known of are none.
	versions(ctx context.Context) ([]Version, error)
	// find returns a package. V is zero for the only one, or has a tag or a digest.
	find(ctx context.Context, v Version) (*Found, error)
	close() error
}

// Version is a version that a source has.
type Version struct {
	Version string
	// Digest is that of the package. Empty: it is not known before it is fetched.
	Digest digest.Digest
	yanked bool
	tag    string
	file   string
	size   int64
}

// Open opens the source of a REF.
//
// # Errors
//
// A plain error if it cannot be read, or Docker's configuration cannot.
func Open(ctx context.Context, ref Ref, o Options) (*Source, error) {
	s := &Source{Ref: ref}
	var err error
	switch ref.Kind {
	case Registry:
		s.keeper, err = newRegistry(ref)
	case WebFile:
		s.keeper, err = newWeb(ref, o)
	case WebIndex:
		s.keeper, err = newWebIndex(ctx, ref, o)
	case Directory:
		s.keeper, err = newDirectory(ref)
	default:
		s.keeper = &file{path: ref.Place}
	}
	if err != nil {
		return nil, err
	}
	switch k := s.keeper.(type) {
	case *registryKeeper:
		k.options = o
		if s.Notices, err = k.notices(ctx); err != nil {
			return nil, fmt.Errorf("%s: %w", sanitize.Line(ref.Place, 300), errors.Join(err, k.close()))
		}
	case *webIndex:
		s.Notices = k.said
	case *directory:
		s.Notices = k.said
	}
	return s, nil
}

// Close ends its connections, and removes what was fetched whole.
func (s *Source) Close() error { return s.keeper.close() }

// Versions returns the versions, in ascending order. A source of a single package has none that are
// known before it is fetched.
//
// # Errors
//
// Those of the server.
func (s *Source) Versions(ctx context.Context) ([]Version, error) {
	all, err := s.keeper.versions(ctx)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sanitize.Line(s.Ref.Place, 300), err)
	}
	said, _ := s.Notices.Parse() // who installs is told of what is malformed
	for i := range all {
		all[i].yanked = said.Of(all[i].Version)[pluginpackage.Yanked] != ""
	}
	slices.SortFunc(all, func(a, b Version) int { return CompareVersions(a.Version, b.Version) })
	return all, nil
}

// Newest returns the newest release among versions in ascending order; false: there is none. A
// version such as 1.2.0-rc.1 does not count as a release, nor does one that was withdrawn.
func Newest(all []Version) (Version, bool) {
	for _, v := range slices.Backward(all) {
		if !strings.Contains(v.Version, "-") && !v.yanked {
			return v, true
		}
	}
	return Version{}, false
}

// Find returns a package: that of the REF's digest or tag, else that of a version, else the newest
// release. It has the plugin's manifest, and none of its files.
//
// # Errors
//
// A plain error that lists the versions if that one is not there, or says what is wrong with the
// package; those of the server.
func (s *Source) Find(ctx context.Context, version string) (*Found, error) {
	want, err := s.choose(ctx, version)
	if err != nil {
		return nil, err
	}
	out, err := s.keeper.find(ctx, want)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sanitize.Line(s.Ref.Place, 300), err)
	}
	out.Package, err = pluginpackage.Read(ctx, out.Blobs, out.root)
	if err == nil {
		err = s.check(out.Package, version, want)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", sanitize.Line(s.Ref.Place, 300), err)
	}
	return out, nil
}

// check compares a package with what was asked for: what the place says is not what counts.
func (s *Source) check(p *pluginpackage.Package, version string, want Version) error {
	if want.Version != "" {
		version = want.Version
	}
	switch {
	case s.Ref.Digest != "" && p.Digest != s.Ref.Digest:
		return fmt.Errorf("the package is %s, not %s: another one was published there", p.Digest, s.Ref.Digest)
	case want.Digest != "" && p.Digest != want.Digest:
		return fmt.Errorf("the package is %s, and the index says %s", p.Digest, want.Digest)
	case version != "" && p.Manifest.Version != version:
		return fmt.Errorf("the package is version %s, not %s", p.Manifest.Version, version)
	case s.Ref.Plugin != "" && p.Manifest.Name != s.Ref.Plugin:
		return fmt.Errorf("the package is of plugin %s, not %s", p.Manifest.Name, sanitize.Line(s.Ref.Plugin, 70))
	}
	return nil
}

// choose says which package is meant.
func (s *Source) choose(ctx context.Context, version string) (Version, error) {
	if version == "" && s.Ref.Kind != Registry {
		version = s.Ref.Tag
	}
	version = strings.TrimPrefix(version, "v")
	if version != "" && !IsVersion(version) {
		return Version{}, fmt.Errorf("%s is not a version: use one such as 1.2.0", sanitize.Quote(version, 100))
	}
	single := s.Ref.Kind == File || s.Ref.Kind == WebFile
	if single || s.Ref.Kind == Registry && version == "" && (s.Ref.Digest != "" || s.Ref.Tag != "") {
		return Version{Digest: s.Ref.Digest, tag: s.Ref.Tag}, nil
	}
	all, err := s.Versions(ctx)
	if err != nil {
		return Version{}, err
	}
	names := make([]string, len(all))
	for i, v := range all {
		if names[i] = v.Version; s.Ref.Digest != "" && v.Digest == s.Ref.Digest || s.Ref.Digest == "" && v.Version == version {
			return v, nil
		}
	}
	place := sanitize.Line(s.Ref.Place, 300)
	switch {
	case s.Ref.Digest != "" && s.Ref.Kind != Registry:
		return Version{}, fmt.Errorf("%s has no package %s of the plugin", place, s.Ref.Digest)
	case version != "":
		return Version{}, fmt.Errorf("%s has no version %s; it has: %s", place, version, list(names))
	}
	newest, ok := Newest(all)
	if !ok {
		return Version{}, fmt.Errorf("%s has no release; it has: %s: name one with --version", place, list(names))
	}
	return newest, nil
}

// list shows the newest of versions.
func list(names []string) string {
	const most = 10
	switch n := len(names); {
	case n == 0:
		return "none"
	case n > most:
		return fmt.Sprintf("%s, and %d older", strings.Join(names[n-most:], ", "), n-most)
	}
	return strings.Join(names, ", ")
}

// Found is a package that was found.
type Found struct {
	*pluginpackage.Package
	Blobs Blobs
	root  ocispec.Descriptor
}

// Blobs has the blobs of a package. It implements [pluginpackage.Blobs].
type Blobs struct {
	from     func(ctx context.Context, d ocispec.Descriptor, offset int64) (io.ReadCloser, error)
	host     string
	progress func(what string, done, size int64)
}

// Fetch implements [pluginpackage.Blobs]. If the server cuts off, it is asked to go on.
func (b Blobs) Fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	r := &resuming{
		ctx: ctx, what: b.host, size: d.Size,
		open: func(ctx context.Context, offset int64) (io.ReadCloser, error) { return b.from(ctx, d, offset) },
	}
	if b.progress != nil && d.MediaType == pluginpackage.MediaTypeBinary {
		r.progress = func(done, size int64) { b.progress(b.host, done, size) }
	}
	return r, nil
}

// Save writes a blob into a new file of a directory, and syncs it. If that fails there is no file.
//
// # Errors
//
// [pluginpackage.ErrContent] if the server sends something else; those of the server, of the disk and
// of ctx.
func (b Blobs) Save(ctx context.Context, d ocispec.Descriptor, dir *os.Root, name string) error {
	return save(dir, name, func(f *os.File) error {
		body, err := b.Fetch(ctx, d)
		if err != nil {
			return err
		}
		verifier := d.Digest.Verifier()
		_, err = io.Copy(io.MultiWriter(f, verifier), body)
		if err = errors.Join(err, body.Close()); err == nil && !verifier.Verified() {
			err = fmt.Errorf("%s: %w: it was asked for %s", b.host, pluginpackage.ErrContent, d.Digest)
		}
		return err
	})
}

// skip reads over the beginning of content.
func skip(r io.ReadCloser, err error, offset int64) (io.ReadCloser, error) {
	if err == nil && offset > 0 {
		if _, err = io.CopyN(io.Discard, r, offset); err != nil {
			_ = r.Close()
		}
	}
	if err != nil {
		return nil, err
	}
	return r, nil
}
