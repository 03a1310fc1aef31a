package pluginsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strings"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2/errdef"
	"oras.land/oras-go/v2/registry/remote"
	"oras.land/oras-go/v2/registry/remote/auth"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/pluginpackage"
)

// maxTags bounds the tags of a repository.
const maxTags = 100_000

// registryKeeper is a repository of a registry.
type registryKeeper struct {
	repository *remote.Repository
	client     *http.Client
	options    Options
}

// newRegistry opens a repository. Credentials are those of Docker's configuration, and are asked for
// only for that registry.
func newRegistry(ref Ref) (*registryKeeper, error) {
	repository, err := remote.NewRepository(strings.TrimPrefix(ref.Place, "oci://"))
	if err != nil {
		return nil, err
	}
	at := &url.URL{Scheme: "https", Host: repository.Reference.Host()}
	if address.IsLoopback(at.Hostname()) {
		at.Scheme, repository.PlainHTTP = "http", true
	}
	client := newClient(at)
	if repository.Client, err = Authorized(at, client); err != nil {
		return nil, err
	}
	repository.MaxMetadataBytes = pluginpackage.MaxManifest
	return &registryKeeper{repository: repository, client: client}, nil
}

func (r *registryKeeper) versions(ctx context.Context) (out []Version, err error) {
	tags := 0
	err = r.repository.Tags(ctx, "", func(page []string) error {
		if tags += len(page); tags > maxTags {
			return &refusedError{fmt.Sprintf("the repository has more than %d tags", maxTags)}
		}
		for _, tag := range page {
			if v := strings.TrimPrefix(tag, "v"); IsVersion(v) {
				out = append(out, Version{Version: v, tag: tag})
			}
		}
		return nil
	})
	return out, r.explain(err)
}

// The OCI manifest under NoticesTag has what the publisher says of versions in its annotations: packages
// stay as they are, and whoever copies all tags copies it too.
const (
	NoticesTag        = "toolhost-notices"
	NoticesType       = "application/vnd.toolhost.plugin.notices.v1"
	NoticesAnnotation = "vnd.toolhost.plugin.notices"
	MinisigAnnotation = "vnd.toolhost.plugin.minisig"
)

func (r *registryKeeper) notices(ctx context.Context) (out pluginpackage.Sealed, err error) {
	_, body, err := r.repository.FetchReference(ctx, NoticesTag)
	if errors.Is(err, errdef.ErrNotFound) {
		return out, nil
	}
	if err != nil {
		return out, r.explain(err)
	}
	text, err := io.ReadAll(io.LimitReader(body, pluginpackage.MaxManifest))
	var m ocispec.Manifest
	if err = errors.Join(err, body.Close()); err == nil {
		err = json.Unmarshal(text, &m)
	}
	return pluginpackage.Sealed{Text: m.Annotations[NoticesAnnotation], Signature: m.Annotations[MinisigAnnotation]}, err
}

func (r *registryKeeper) find(ctx context.Context, v Version) (*Found, error) {
	what := v.tag
	if v.Digest != "" {
		what = v.Digest.String()
	}
	root, err := r.repository.Resolve(ctx, what)
	if errors.Is(err, errdef.ErrNotFound) {
		return nil, fmt.Errorf("there is no %s: %w", what, errdef.ErrNotFound)
	}
	if err != nil {
		return nil, r.explain(err)
	}
	if err := root.Digest.Validate(); err != nil || root.Digest.Algorithm() != digest.SHA256 {
		return nil, errors.New("the registry answers with a malformed digest")
	}
	return &Found{root: root, Blobs: Blobs{from: r.open, host: r.repository.Reference.Registry, progress: r.options.Progress}}, nil
}

// open opens a blob, or the OCI manifest, at an offset.
func (r *registryKeeper) open(ctx context.Context, d ocispec.Descriptor, offset int64) (io.ReadCloser, error) {
	body, err := r.repository.Fetch(ctx, d)
	if err != nil {
		return nil, r.explain(err)
	}
	if at, ok := body.(io.Seeker); ok && offset > 0 {
		if _, err := at.Seek(offset, io.SeekStart); err == nil {
			return body, nil
		}
		_ = body.Close() // it offered ranges, and does not have them
		if body, err = r.repository.Fetch(ctx, d); err != nil {
			return nil, r.explain(err)
		}
	}
	return skip(body, nil, offset)
}

// explain says what to do about an answer of the registry.
func (r *registryKeeper) explain(err error) error {
	switch {
	case err == nil:
		return nil
	case statusOf(err) == http.StatusUnauthorized || statusOf(err) == http.StatusForbidden || errors.Is(err, auth.ErrBasicCredentialNotFound):
		return fmt.Errorf("the registry wants credentials that allow it: docker login %s, or another tool that writes Docker's configuration: %w",
			r.repository.Reference.Registry, err)
	}
	if asked, ok := errors.AsType[*url.Error](err); ok {
		return fmt.Errorf("no registry answers at %s, or none as it should: %w: check the name, and that this machine reaches it",
			r.repository.Reference.Registry, asked.Err)
	}
	return err
}

func (r *registryKeeper) close() error {
	r.client.CloseIdleConnections()
	return nil
}
