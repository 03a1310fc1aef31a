package pluginsource

import (
	"context"
	"io"
	"path/filepath"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
)

// maxTar bounds a package file, in bytes: the blobs, and what the archive adds.
const maxTar = pluginpackage.MaxSize + 1<<20

// file is a package in a file.
type file struct {
	path string
	open []*pluginpackage.Tar
}

func (*file) versions(context.Context) ([]Version, error) { return nil, nil }

func (f *file) find(context.Context, Version) (*Found, error) { return f.at(f.path) }

// at opens a package file.
func (f *file) at(path string) (*Found, error) {
	t, err := pluginpackage.OpenTar(path)
	if err != nil {
		return nil, err
	}
	f.open = append(f.open, t)
	from := func(ctx context.Context, d ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
		body, err := t.Fetch(ctx, d)
		if err != nil {
			return nil, &refusedError{err.Error()}
		}
		return skip(body, err, offset)
	}
	return &Found{root: t.Root(), Blobs: Blobs{from: from, host: filepath.Base(path)}}, nil
}

func (f *file) close() error {
	for _, t := range f.open {
		_ = t.Close()
	}
	return nil
}

// directory is a directory with an index.
type directory struct {
	shelved
	files file
}

func newDirectory(ref Ref) (*directory, error) {
	x, err := ReadIndex(ref.Place)
	if err != nil {
		return nil, err
	}
	d := &directory{files: file{path: ref.Place}}
	d.shelved, err = x.of(ref.Plugin)
	return d, err
}

// ReadIndex reads the index of a directory.
//
// # Errors
//
// Those of [ParseIndex] and of the system.
func ReadIndex(dir string) (Index, error) {
	f, _, err := safefile.OpenTarget(filepath.Join(dir, IndexName))
	if err != nil {
		return Index{}, err
	}
	defer func() { _ = f.Close() }()
	text, err := io.ReadAll(io.LimitReader(f, maxIndex))
	if err != nil {
		return Index{}, err
	}
	return ParseIndex(text)
}

func (d *directory) find(_ context.Context, v Version) (*Found, error) {
	return d.files.at(filepath.Join(d.files.path, v.file))
}

func (d *directory) close() error { return d.files.close() }
