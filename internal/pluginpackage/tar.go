package pluginpackage

import (
	"archive/tar"
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Sizes of tar, in bytes.
const (
	tarBlock   = 512
	tarTrailer = 20 * tarBlock // what writers pad an archive to
	maxEntries = maxLayers + 4 // with the layout, the index and both manifests
	blobPrefix = "blobs/sha256/"
)

// Tar is a package in a file: an OCI image layout in a tar. It is the [Blobs] of the package.
type Tar struct {
	file  *os.File
	root  ocispec.Descriptor
	blobs map[digest.Digest]*section
}

// section is an entry's content in the file.
type section struct{ offset, size int64 }

// OpenTar opens a package file. It reads the headers of the archive and the index, and checks
// that the archive has nothing else than an OCI image layout of one manifest has: oci-layout,
// index.json and blobs/sha256/DIGEST, regular files, each once, and each blob is what its name says. [Read] reads the package.
//
// # Errors
//
// A plain error with the path: the file cannot be read, is not a regular file, or is not such an
// archive.
func OpenTar(path string) (*Tar, error) {
	f, info, err := safefile.OpenTarget(path)
	if err != nil {
		return nil, err
	}
	t := &Tar{file: f, blobs: map[digest.Digest]*section{}}
	if err := t.read(info.Size()); err != nil {
		_ = f.Close()
		return nil, fmt.Errorf("%s: %w", path, err)
	}
	return t, nil
}

// Close closes the file.
func (t *Tar) Close() error { return t.file.Close() }

// Root is the descriptor of the package's OCI manifest.
func (t *Tar) Root() ocispec.Descriptor { return t.root }

// Fetch implements [Blobs].
func (t *Tar) Fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	s, ok := t.blobs[d.Digest]
	if !ok {
		return nil, fmt.Errorf("the archive has no blob %s", d.Digest)
	}
	if s.size != d.Size {
		return nil, fmt.Errorf("blob %s has %d bytes in the archive, expected %d", d.Digest, s.size, d.Size)
	}
	return io.NopCloser(io.NewSectionReader(t.file, s.offset, s.size)), nil
}

// read reads the headers, the layout and the index of a file of that size.
func (t *Tar) read(size int64) error {
	if size > MaxSize+maxEntries*2*tarBlock+tarTrailer+MaxManifest {
		return fmt.Errorf("the file has %d bytes, more than a package may have", size)
	}
	known := map[string]*section{}
	end, err := scan(t.file, size, func(name string, s *section) error {
		if known[name] != nil {
			return fmt.Errorf("the archive has two entries of the name %s", name)
		}
		if len(known) == maxEntries {
			return fmt.Errorf("the archive has more than %d entries", maxEntries)
		}
		known[name] = s
		if hex, ok := strings.CutPrefix(name, blobPrefix); ok {
			t.blobs[digest.NewDigestFromEncoded(digest.SHA256, hex)] = s
		}
		return nil
	})
	if err != nil {
		return err
	}
	if err := t.checkTrailer(end, size); err != nil {
		return err
	}
	var layout ocispec.ImageLayout
	if err := t.unmarshal(known, ocispec.ImageLayoutFile, tarBlock, &layout); err != nil {
		return err
	}
	if layout.Version != ocispec.ImageLayoutVersion {
		return fmt.Errorf("oci-layout has the version %s, expected %s", sanitize.Quote(layout.Version, 40), ocispec.ImageLayoutVersion)
	}
	var index ocispec.Index
	if err := t.unmarshal(known, ocispec.ImageIndexFile, MaxManifest, &index); err != nil {
		return err
	}
	if index.SchemaVersion != 2 || len(index.Manifests) != 1 {
		return fmt.Errorf("index.json has %d manifests, expected one", len(index.Manifests))
	}
	t.root = index.Manifests[0]
	return t.checkBlobs()
}

// scan calls f for each entry of an archive, and returns where the last one ends. Contents are
// not read.
func scan(file io.ReadSeeker, size int64, f func(name string, s *section) error) (end int64, err error) {
	for r := tar.NewReader(file); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return end, nil
		}
		if err != nil {
			return 0, fmt.Errorf("the archive cannot be read: %w", err)
		}
		at, err := file.Seek(0, io.SeekCurrent)
		if err != nil {
			return 0, err
		}
		switch {
		case !isEntry(h.Name):
			return 0, fmt.Errorf("the archive has an entry %s, which a package may not have", sanitize.Quote(h.Name, 100))
		case h.Typeflag != tar.TypeReg || len(h.PAXRecords) > 0 || h.Linkname != "":
			return 0, fmt.Errorf("entry %s of the archive is not a regular file", h.Name)
		case h.Size < 1 || h.Size > size-at:
			return 0, fmt.Errorf("entry %s of the archive has %d bytes by its header, and the file ends after %d", h.Name, h.Size, size-at)
		}
		if err := f(h.Name, &section{offset: at, size: h.Size}); err != nil {
			return 0, err
		}
		end = at + (h.Size+tarBlock-1)/tarBlock*tarBlock
	}
}

// isEntry reports whether a package may have an entry of that name.
func isEntry(name string) bool {
	if name == ocispec.ImageLayoutFile || name == ocispec.ImageIndexFile {
		return true
	}
	hex, ok := strings.CutPrefix(name, blobPrefix)
	return ok && digest.NewDigestFromEncoded(digest.SHA256, hex).Validate() == nil
}

// checkTrailer checks that the two empty blocks that end an archive come after the last entry,
// and at most the padding that writers add.
func (t *Tar) checkTrailer(end, size int64) error {
	n := size - end
	if n < 2*tarBlock || n > tarTrailer+2*tarBlock {
		return errors.New("the archive does not end where its entries do: it was cut off, or something was added")
	}
	rest := make([]byte, n)
	if _, err := t.file.ReadAt(rest, end); err != nil {
		return err
	}
	if len(bytes.Trim(rest, "\x00")) > 0 {
		return errors.New("something follows the end of the archive")
	}
	return nil
}

// unmarshal reads an entry that is JSON, of at most so many bytes.
func (t *Tar) unmarshal(known map[string]*section, name string, limit int64, v any) error {
	s := known[name]
	if s == nil {
		return fmt.Errorf("the archive has no %s: it is not a package of a plugin", name)
	}
	if s.size > limit {
		return fmt.Errorf("%s has %d bytes, more than %d", name, s.size, limit)
	}
	text := make([]byte, s.size)
	if _, err := t.file.ReadAt(text, s.offset); err != nil {
		return err
	}
	if err := unmarshal(text, v); err != nil {
		return fmt.Errorf("%s: %w", name, err)
	}
	return nil
}

func unmarshal(text []byte, v any) error {
	if err := json.Unmarshal(text, v); err != nil {
		return fmt.Errorf("it is not valid JSON: %w", err)
	}
	return nil
}

// checkBlobs refuses an archive with blobs that are not the package's, or are damaged, whether they are read later or not.
func (t *Tar) checkBlobs() error {
	text, err := fetch(context.Background(), t, t.root, MaxManifest)
	if err != nil {
		return fmt.Errorf("the OCI manifest: %w", err)
	}
	var m ocispec.Manifest
	if err := unmarshal(text, &m); err != nil {
		return fmt.Errorf("the OCI manifest: %w", err)
	}
	used := map[digest.Digest]bool{t.root.Digest: true, m.Config.Digest: true}
	for _, l := range m.Layers {
		used[l.Digest] = true
	}
	for d, s := range t.blobs {
		if !used[d] {
			return fmt.Errorf("the archive has a blob %s that the package does not use", d)
		}
		all := verify(io.NopCloser(io.NewSectionReader(t.file, s.offset, s.size)), ocispec.Descriptor{Digest: d, Size: s.size})
		if _, err := io.Copy(io.Discard, all); err != nil {
			return err
		}
	}
	return nil
}

// entry is a file of an archive that is written.
type entry struct {
	name string
	size int64
	open func() (io.ReadCloser, error)
}

// WriteTar writes a package file: the same bytes for the same package. Each blob is checked
// while it is written.
//
// # Errors
//
// Those of w and of the package's blobs; [ErrContent].
func (p *Package) WriteTar(ctx context.Context, w io.Writer) error {
	layout, err := json.Marshal(ocispec.ImageLayout{Version: ocispec.ImageLayoutVersion})
	if err != nil {
		return err
	}
	index, err := json.Marshal(ocispec.Index{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageIndex, Manifests: []ocispec.Descriptor{p.Root()},
	})
	if err != nil {
		return err
	}
	entries := []entry{bytesEntry(ocispec.ImageLayoutFile, layout), bytesEntry(ocispec.ImageIndexFile, index)}
	for _, d := range p.Descriptors() {
		entries = append(entries, entry{blobPrefix + d.Digest.Encoded(), d.Size, func() (io.ReadCloser, error) { return p.Open(ctx, d) }})
	}
	out := tar.NewWriter(w)
	for _, e := range entries {
		if err := e.write(out); err != nil {
			return fmt.Errorf("%s: %w", e.name, err)
		}
	}
	return out.Close()
}

func bytesEntry(name string, content []byte) entry {
	return entry{name, int64(len(content)), func() (io.ReadCloser, error) { return io.NopCloser(bytes.NewReader(content)), nil }}
}

func (e entry) write(out *tar.Writer) error {
	if err := out.WriteHeader(&tar.Header{Typeflag: tar.TypeReg, Name: e.name, Size: e.size, Mode: 0o644, Format: tar.FormatUSTAR}); err != nil {
		return err
	}
	r, err := e.open()
	if err != nil {
		return err
	}
	defer func() { _ = r.Close() }()
	_, err = io.Copy(out, r)
	return err
}
