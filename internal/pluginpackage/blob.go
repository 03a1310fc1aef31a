package pluginpackage

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/opencontainers/go-digest"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
)

// Blobs is where the blobs of a package are: a registry, a file. It has the shape of ORAS's
// content.Fetcher. What Fetch returns need not be checked.
type Blobs interface {
	Fetch(ctx context.Context, d ocispec.Descriptor) (io.ReadCloser, error)
}

// ErrContent reports that a blob is not what its descriptor says.
var ErrContent = errors.New("the content is not what its digest says")

// verified reads a blob and checks its size and digest: the last Read returns [io.EOF] only if
// both are right.
type verified struct {
	io.ReadCloser
	want     ocispec.Descriptor
	left     int64
	verifier digest.Verifier
}

func verify(r io.ReadCloser, d ocispec.Descriptor) *verified {
	return &verified{r, d, d.Size, d.Digest.Verifier()}
}

func (v *verified) Read(p []byte) (int, error) {
	if int64(len(p)) > v.left+1 { // one more shows that it is too long
		p = p[:v.left+1]
	}
	n, err := v.ReadCloser.Read(p)
	v.left -= int64(n)
	if v.left < 0 {
		return 0, fmt.Errorf("%s: %w: it is longer than %d bytes", v.want.Digest, ErrContent, v.want.Size)
	}
	_, _ = v.verifier.Write(p[:n])
	if !errors.Is(err, io.EOF) {
		return n, err
	}
	if v.left > 0 {
		return n, fmt.Errorf("%s: %w: it ends after %d of %d bytes", v.want.Digest, ErrContent, v.want.Size-v.left, v.want.Size)
	}
	if !v.verifier.Verified() {
		return n, fmt.Errorf("%s: %w", v.want.Digest, ErrContent)
	}
	return n, io.EOF
}

// fetch reads a blob of at most so many bytes, whole.
func fetch(ctx context.Context, blobs Blobs, d ocispec.Descriptor, limit int64) ([]byte, error) {
	if err := checkDescriptor(d, limit); err != nil {
		return nil, err
	}
	r, err := blobs.Fetch(ctx, d)
	if err != nil {
		return nil, err
	}
	defer func() { _ = r.Close() }()
	return io.ReadAll(verify(r, d))
}

// checkDescriptor refuses what must not even be asked for.
func checkDescriptor(d ocispec.Descriptor, limit int64) error {
	switch {
	case d.Digest.Validate() != nil || d.Digest.Algorithm() != digest.SHA256:
		return errors.New("a blob has no valid SHA-256 digest")
	case d.Size < 1 || d.Size > limit:
		return fmt.Errorf("blob %s has %d bytes, expected 1 to %d", d.Digest, d.Size, limit)
	}
	return nil
}

func digestOf(b []byte) digest.Digest { return digest.FromBytes(b) }
