package pluginpackage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Package is a package whose manifests were read and checked. Its files were not read yet:
// see [Package.Open].
type Package struct {
	Signed
	// Digest is that of the OCI manifest, the same in a registry, a file and a mirror.
	Digest digest.Digest
	// Size is that of all blobs and the OCI manifest together, in bytes.
	Size int64
	// OCI is the OCI manifest, and OCIText its bytes.
	OCI     ocispec.Manifest
	OCIText []byte

	blobs Blobs
}

// Signed is a plugin's manifest with its signature.
type Signed struct {
	Manifest Manifest
	// Text is the manifest as it was written: what is signed.
	Text []byte
	// Signature is the signature file that minisign makes. Nil: it is not signed.
	Signature []byte
}

// Read reads the package whose OCI manifest is root: the two manifests and the signature, and
// no file. It checks that the package is what this package's documentation says, and nothing else.
// Whether the signature is right, and whose it is, [Publishers.Check] says.
//
// # Errors
//
// A plain error for the first thing that is wrong, which wraps [ErrContent] if a blob has another
// digest or size; those of blobs.
func Read(ctx context.Context, blobs Blobs, root ocispec.Descriptor) (*Package, error) {
	if root.MediaType != "" && root.MediaType != ocispec.MediaTypeImageManifest {
		return nil, fmt.Errorf("not a package of a plugin: its media type is %s", sanitize.Quote(root.MediaType, 100))
	}
	text, err := fetch(ctx, blobs, root, MaxManifest)
	if err != nil {
		return nil, fmt.Errorf("the OCI manifest: %w", err)
	}
	p := &Package{Digest: root.Digest, OCIText: text, Size: root.Size, blobs: blobs}
	if err := p.parseOCI(text); err != nil {
		return nil, fmt.Errorf("the OCI manifest: %w", err)
	}
	if p.Text, err = fetch(ctx, blobs, p.OCI.Config, MaxManifest); err != nil {
		return nil, fmt.Errorf("the plugin's manifest: %w", err)
	}
	if p.Manifest, err = ParseManifest(p.Text); err != nil {
		return nil, err
	}
	signature, err := p.checkLayers()
	if err != nil {
		return nil, err
	}
	if signature != nil {
		if p.Signature, err = fetch(ctx, blobs, *signature, MaxSignature); err != nil {
			return nil, fmt.Errorf("the signature: %w", err)
		}
	}
	return p, nil
}

// parseOCI reads the OCI manifest. Annotations and members that OCI adds are ignored: they are
// not signed, and nothing here depends on them.
func (p *Package) parseOCI(text []byte) error {
	if err := checkMembers(text); err != nil {
		return err
	}
	if err := unmarshal(text, &p.OCI); err != nil {
		return err
	}
	m := p.OCI
	switch {
	case m.SchemaVersion != 2 || m.MediaType != ocispec.MediaTypeImageManifest:
		return errors.New("it is not an OCI image manifest")
	case m.ArtifactType != ArtifactType:
		return fmt.Errorf("not a package of a plugin: its artifact type is %s, expected %s", sanitize.Quote(m.ArtifactType, 100), ArtifactType)
	case m.Config.MediaType != MediaTypeManifest:
		return fmt.Errorf("the config has the media type %s, expected %s", sanitize.Quote(m.Config.MediaType, 100), MediaTypeManifest)
	case m.Subject != nil:
		return errors.New("it has a subject")
	case len(m.Layers) == 0 || len(m.Layers) > maxLayers:
		return fmt.Errorf("it has %d layers, expected 1 to %d", len(m.Layers), maxLayers)
	}
	return nil
}

// checkLayers checks that the layers are those of the plugin's manifest, each once, and returns the
// signature's; nil: there is none.
func (p *Package) checkLayers() (signature *ocispec.Descriptor, err error) {
	type fact struct {
		mediaType string
		size      int64
	}
	want := map[digest.Digest]fact{}
	for _, l := range p.Manifest.layers() {
		if f, ok := want[l.Digest]; ok && f != (fact{l.MediaType, l.Size}) {
			return nil, fmt.Errorf("the manifest has blob %s with two sizes or uses", l.Digest)
		}
		want[l.Digest] = fact{l.MediaType, l.Size}
	}
	p.Size += p.OCI.Config.Size
	for _, l := range p.OCI.Layers {
		if len(l.URLs) > 0 || len(l.Data) > 0 {
			return nil, fmt.Errorf("layer %s has URLs or data, which a package may not have", l.Digest)
		}
		if err := checkDescriptor(l, MaxSize); err != nil {
			return nil, err
		}
		if p.Size += l.Size; p.Size > MaxSize {
			return nil, fmt.Errorf("the package has more than %d bytes", MaxSize)
		}
		if l.MediaType == MediaTypeSignature {
			if signature != nil {
				return nil, errors.New("the package has two signatures")
			}
			signature = &l
			continue
		}
		f, ok := want[l.Digest]
		if !ok {
			return nil, fmt.Errorf("layer %s is not in the plugin's manifest, or occurs twice", l.Digest)
		}
		if f != (fact{l.MediaType, l.Size}) {
			return nil, fmt.Errorf("layer %s has the type %s and %d bytes, the plugin's manifest says %s and %d",
				l.Digest, sanitize.Quote(l.MediaType, 100), l.Size, f.mediaType, f.size)
		}
		delete(want, l.Digest)
	}
	for d := range want {
		return nil, fmt.Errorf("blob %s of the plugin's manifest is not among the layers", d)
	}
	return signature, nil
}

// File returns the plugin's file for a platform (GOOS/GOARCH), or the one for any.
//
// # Errors
//
// A plain error that lists the platforms that there are.
func (p *Package) File(platform string) (ocispec.Descriptor, error) {
	b, err := p.Manifest.Find(platform)
	if err != nil {
		return ocispec.Descriptor{}, err
	}
	return b.descriptor(MediaTypeBinary), nil
}

// Open opens a blob of the package. Its content is checked while it is read: the reader returns
// [io.EOF] only if size and digest are right, and an error that wraps [ErrContent] otherwise.
func (p *Package) Open(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error) {
	r, err := p.blobs.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	return verify(r, d), nil
}

// Root is the descriptor of the OCI manifest.
func (p *Package) Root() ocispec.Descriptor {
	return ocispec.Descriptor{
		MediaType: ocispec.MediaTypeImageManifest, ArtifactType: ArtifactType, Digest: p.Digest, Size: int64(len(p.OCIText)),
	}
}

// Descriptors are those of all blobs, the OCI manifest first, each once.
func (p *Package) Descriptors() []ocispec.Descriptor {
	return append([]ocispec.Descriptor{p.Root(), p.OCI.Config}, p.OCI.Layers...)
}

func (b Blob) descriptor(mediaType string) ocispec.Descriptor {
	if b.MediaType != "" {
		mediaType = b.MediaType
	}
	return ocispec.Descriptor{MediaType: mediaType, Digest: b.Digest, Size: b.Size}
}

// layers are the layers of a manifest's package but the signature's, in their order. One file for
// two platforms is there twice.
func (m Manifest) layers() []ocispec.Descriptor {
	var out []ocispec.Descriptor
	for _, p := range m.PlatformNames() {
		out = append(out, m.Platforms[p].descriptor(MediaTypeBinary))
	}
	for _, p := range m.PlatformNames() {
		if b, ok := m.SBOM[p]; ok {
			out = append(out, b.descriptor(""))
		}
	}
	if m.LicenseText != nil {
		out = append(out, m.LicenseText.descriptor(MediaTypeLicense))
	}
	return out
}
