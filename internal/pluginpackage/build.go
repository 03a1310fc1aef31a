package pluginpackage

import (
	"bytes"
	"cmp"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Input is what a package is built from.
type Input struct {
	// Manifest is the plugin's manifest without the blobs: Build adds Platforms, SBOM and
	// LicenseText, and sorts the definitions.
	Manifest Manifest
	// Files are the paths of the plugin's files by platform.
	Files map[string]string
	// SBOM are the software bills of materials by platform; at most one for each file.
	SBOM map[string]SBOM
	// License is the text of the licence. Empty: the package has none.
	License []byte
	// Sign returns the signature of the manifest. Nil: the package is not signed.
	Sign func(Signed) ([]byte, error)
}

// SBOM is a software bill of materials.
type SBOM struct {
	MediaType string // [MediaTypeCycloneDX] or [MediaTypeSPDX]
	Content   []byte
}

// Build builds a package. The same input makes the same package, with the same digest. The files
// are read to hash them, and again, and checked, when the package is written.
//
// # Errors
//
// Those of reading the files, and of [Manifest.Check]; those of in.Sign.
func Build(ctx context.Context, in Input) (*Package, error) {
	blobs := &built{memory: map[digest.Digest][]byte{}, files: map[digest.Digest]string{}}
	m := in.Manifest
	m.SchemaVersion = SchemaVersion
	m.Platforms, m.SBOM, m.LicenseText = map[string]Blob{}, nil, nil
	m.Definitions = slices.SortedFunc(slices.Values(m.Definitions), func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	m.Needs = need.Normal(m.Needs)
	for _, p := range slices.Sorted(maps.Keys(in.Files)) {
		b, err := blobs.addFile(ctx, in.Files[p])
		if err != nil {
			return nil, err
		}
		m.Platforms[p] = b
	}
	for _, p := range slices.Sorted(maps.Keys(in.SBOM)) {
		if m.SBOM == nil {
			m.SBOM = map[string]Blob{}
		}
		m.SBOM[p] = blobs.add(in.SBOM[p].Content)
		b := m.SBOM[p]
		b.MediaType = in.SBOM[p].MediaType
		m.SBOM[p] = b
	}
	if len(in.License) > 0 {
		m.LicenseText = new(blobs.add(in.License))
	}
	text, err := json.MarshalIndent(m, "", "  ")
	if err != nil {
		return nil, err
	}
	text = append(text, '\n')
	s := Signed{Text: text}
	if s.Manifest, err = ParseManifest(text); err != nil { // as who reads it will
		return nil, err
	}
	if in.Sign != nil {
		if s.Signature, err = in.Sign(s); err != nil {
			return nil, err
		}
	}
	return assemble(ctx, blobs, s)
}

// assemble writes the OCI manifest of a package, and reads it as everyone else will.
func assemble(ctx context.Context, blobs *built, s Signed) (*Package, error) {
	m := s.Manifest
	config := blobs.add(s.Text)
	var layers []ocispec.Descriptor
	seen := map[digest.Digest]bool{}
	for _, l := range m.layers() {
		if !seen[l.Digest] {
			layers = append(layers, l)
		}
		seen[l.Digest] = true
	}
	if s.Signature != nil {
		layers = append(layers, blobs.add(s.Signature).descriptor(MediaTypeSignature))
	}
	about := map[string]string{
		ocispec.AnnotationTitle: m.Name, ocispec.AnnotationVersion: m.Version, ocispec.AnnotationLicenses: m.License,
		ocispec.AnnotationDescription: m.Description,
	}
	if m.Source != "" {
		about[ocispec.AnnotationSource] = m.Source
	}
	text, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType,
		Config: config.descriptor(MediaTypeManifest), Layers: layers, Annotations: about,
	})
	if err != nil {
		return nil, err
	}
	root := blobs.add(text).descriptor(ocispec.MediaTypeImageManifest)
	return Read(ctx, blobs, root)
}

// built has the blobs of a package that is built.
type built struct {
	memory map[digest.Digest][]byte
	files  map[digest.Digest]string // paths
}

func (b *built) add(content []byte) Blob {
	d := digest.FromBytes(content)
	b.memory[d] = content
	return Blob{Digest: d, Size: int64(len(content))}
}

func (b *built) addFile(ctx context.Context, path string) (Blob, error) {
	hex, n, err := hashFile(ctx, path)
	if err != nil {
		return Blob{}, err
	}
	d := digest.NewDigestFromEncoded(digest.SHA256, hex)
	b.files[d] = path
	return Blob{Digest: d, Size: n}, nil
}

// HashFile returns the SHA-256 of a file, in hexadecimal digits.
//
// # Errors
//
// Those of reading it; a plain error if it is larger than a package may be.
func HashFile(ctx context.Context, path string) (string, error) {
	sum, _, err := hashFile(ctx, path)
	return sum, err
}

func hashFile(ctx context.Context, path string) (sum string, size int64, err error) {
	f, info, err := safefile.OpenTarget(path)
	if err != nil {
		return "", 0, err
	}
	defer func() { _ = f.Close() }()
	if info.Size() > MaxSize {
		return "", 0, fmt.Errorf("%s has %d bytes, more than a package may have", path, info.Size())
	}
	h := sha256.New()
	n, err := io.Copy(h, io.LimitReader(f, MaxSize+1))
	if err := cmp.Or(err, ctx.Err()); err != nil {
		return "", 0, fmt.Errorf("%s: %w", path, err)
	}
	if n != info.Size() {
		return "", 0, fmt.Errorf("%s changed while it was read", path)
	}
	return hex.EncodeToString(h.Sum(nil)), n, nil
}

// Fetch implements [Blobs].
func (b *built) Fetch(_ context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	if content, ok := b.memory[d.Digest]; ok {
		return io.NopCloser(bytes.NewReader(content)), nil
	}
	path, ok := b.files[d.Digest]
	if !ok {
		return nil, errors.New("the package has no blob " + d.Digest.String())
	}
	f, _, err := safefile.OpenTarget(path)
	return f, err
}
