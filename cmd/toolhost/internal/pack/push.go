package pack

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"
	"github.com/opencontainers/image-spec/specs-go"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"
	"oras.land/oras-go/v2/registry/remote/errcode"
	"oras.land/oras-go/v2/registry/remote/retry"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Target is a repository of a registry, and a tag in it.
type Target struct {
	repository *remote.Repository
	// Tag is what a package is found by. Empty: its version.
	Tag string
}

// ErrTaken reports that a tag is another package's.
var ErrTaken = errors.New("the tag is another package's")

// ParseTarget reads oci://HOST/REPOSITORY[:TAG]. Nothing is asked for yet. Credentials are those
// of Docker's configuration. Plain http is spoken only to this machine.
//
// # Errors
//
// A plain error that says what was expected.
func ParseTarget(text string) (*Target, error) {
	rest, ok := strings.CutPrefix(text, "oci://")
	if !ok {
		return nil, fmt.Errorf("%s is not a place to push to: expected oci://HOST/REPOSITORY, with :TAG if it is not the version", sanitize.Quote(text, 200))
	}
	ref, err := registry.ParseReference(rest)
	if err == nil && ref.Reference != "" {
		err = ref.ValidateReferenceAsTag()
	}
	if err != nil {
		return nil, fmt.Errorf("%s: expected oci://HOST/REPOSITORY, with :TAG if it is not the version: %w", sanitize.Quote(text, 200), err)
	}
	client, err := pluginsource.Authorized(&url.URL{Scheme: "https", Host: ref.Host()}, retry.DefaultClient)
	if err != nil {
		return nil, err
	}
	out := &Target{Tag: ref.Reference}
	ref.Reference = ""
	out.repository = &remote.Repository{
		Client: client, Reference: ref,
		PlainHTTP:        address.IsLoopback((&url.URL{Host: ref.Host()}).Hostname()),
		MaxMetadataBytes: pluginpackage.MaxManifest,
	}
	return out, nil
}

// Pushed is what a push has done.
type Pushed struct {
	Reference string `json:"reference"` // oci://HOST/REPOSITORY:TAG@sha256:…
	Digest    string `json:"digest"`
	Blobs     int    `json:"blobs"` // that were sent, the manifests included
	Bytes     int64  `json:"bytes"`
}

// Push puts a package into the repository: first its blobs, those that are not there already,
// then the OCI manifest, then the tag. Progress is called with how many bytes of how many are
// there; nil: it is not. Force moves a tag that another package has.
//
// # Errors
//
// [ErrTaken]; those of the registry, with what to do about missing credentials.
func (t *Target) Push(ctx context.Context, p *pluginpackage.Package, force bool, progress func(done, total int64)) (Pushed, error) {
	tag := t.Tag
	if tag == "" {
		tag = p.Manifest.Version
	}
	name := "oci://" + t.repository.Reference.Registry + "/" + t.repository.Reference.Repository + ":" + tag
	out := Pushed{Reference: name + "@" + p.Digest.String(), Digest: p.Digest.String()}
	there, err := t.repository.Resolve(ctx, tag)
	switch {
	case err == nil && there.Digest == p.Digest:
		return out, nil
	case err == nil && !force:
		return out, fmt.Errorf("%w: %s is %s, and this one is %s: give it another version, or use --force", ErrTaken, name, there.Digest, p.Digest)
	case err != nil && !errors.Is(err, errdef.ErrNotFound):
		return out, t.explain(err)
	}
	all := p.Descriptors()
	var done int64
	for _, d := range append(all[1:], all[0]) { // the OCI manifest refers to the others
		sent, err := t.send(ctx, p, d, func(n int64) {
			if progress != nil {
				progress(done+n, p.Size)
			}
		})
		if err != nil {
			return out, fmt.Errorf("%s was not pushed: %w", d.Digest, t.explain(err))
		}
		if done += d.Size; sent {
			out.Blobs, out.Bytes = out.Blobs+1, out.Bytes+d.Size
		}
	}
	return out, t.explain(t.repository.Tag(ctx, p.Root(), tag))
}

// Say puts notices into the repository, in place of those that were there.
//
// # Errors
//
// Those of the registry.
func (t *Target) Say(ctx context.Context, s pluginpackage.Sealed) error {
	about := map[string]string{pluginsource.NoticesAnnotation: s.Text, pluginsource.MinisigAnnotation: s.Signature}
	empty := ocispec.DescriptorEmptyJSON
	text, err := json.Marshal(ocispec.Manifest{
		Versioned: specs.Versioned{SchemaVersion: 2}, MediaType: ocispec.MediaTypeImageManifest, ArtifactType: pluginsource.NoticesType,
		Config: empty, Layers: []ocispec.Descriptor{empty}, Annotations: about,
	})
	if err == nil {
		err = t.repository.Push(ctx, empty, bytes.NewReader(empty.Data))
	}
	if err == nil || errors.Is(err, errdef.ErrAlreadyExists) {
		root := ocispec.Descriptor{MediaType: ocispec.MediaTypeImageManifest, Digest: digest.FromBytes(text), Size: int64(len(text))}
		err = t.repository.PushReference(ctx, root, bytes.NewReader(text), pluginsource.NoticesTag)
	}
	return t.explain(err)
}

// send sends a blob, unless it is there.
func (t *Target) send(ctx context.Context, p *pluginpackage.Package, d ocispec.Descriptor, progress func(int64)) (sent bool, err error) {
	there, err := t.repository.Exists(ctx, d)
	if err != nil || there {
		return false, err
	}
	r, err := p.Open(ctx, d)
	if err != nil {
		return false, err
	}
	defer func() { _ = r.Close() }()
	err = t.repository.Push(ctx, d, &counted{Reader: r, told: progress})
	if errors.Is(err, errdef.ErrAlreadyExists) {
		err = nil
	}
	return err == nil, err
}

// counted tells how much was read.
type counted struct {
	io.Reader
	told func(int64)
	n    int64
}

func (c *counted) Read(p []byte) (int, error) {
	n, err := c.Reader.Read(p)
	c.n += int64(n)
	c.told(c.n)
	return n, err
}

// explain says what to do about an answer of the registry.
func (t *Target) explain(err error) error {
	var answer *errcode.ErrorResponse
	denied := errors.As(err, &answer) && (answer.StatusCode == http.StatusUnauthorized || answer.StatusCode == http.StatusForbidden)
	if denied || errors.Is(err, auth.ErrBasicCredentialNotFound) {
		return fmt.Errorf("the registry wants credentials that allow it: docker login %s, or another tool that writes Docker's configuration: %w",
			t.repository.Reference.Registry, err)
	}
	return err
}
