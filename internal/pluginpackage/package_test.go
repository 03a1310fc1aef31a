package pluginpackage

import (
	"bytes"
	"context"
	"crypto/rand"
	"errors"
	"io"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"
	ocispec "github.com/opencontainers/image-spec/specs-go/v1"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// sample is the input of a package with all kinds of blobs.
func sample(t *testing.T) Input {
	t.Helper()
	dir := t.TempDir()
	put := func(name, content string) string {
		path := filepath.Join(dir, name)
		require.NoError(t, os.WriteFile(path, []byte(content), 0o600))
		return path
	}
	return Input{
		Manifest: Manifest{
			Name: "sample", Version: "1.2.3", Description: "Greets people.", License: "Apache-2.0", Source: "https://example.com/sample",
			Protocols: []int{1}, CreatedBy: "test/1",
			Definitions: []tool.Definition{
				{Name: "sample.send", Description: "Sends.", Safety: tool.Cautious, Permission: tool.Net, InputSchema: tool.Schema(`{"type":"object"}`)},
				{Name: "sample.greet", Description: "Greets <you>.", Safety: tool.Safe},
			},
			Needs: &tool.Needs{Net: []string{"api.example.com:443"}},
		},
		Files:   map[string]string{"linux/amd64": put("a", "binary a"), "linux/arm64": put("b", "binary b")},
		SBOM:    map[string]SBOM{"linux/amd64": {MediaTypeCycloneDX, []byte(`{"bomFormat":"CycloneDX"}`)}},
		License: []byte("Do what you like.\n"),
	}
}

func pack(t *testing.T, in Input) (*Package, string) {
	t.Helper()
	p := require.Must(Build(t.Context(), in))(t)
	var b bytes.Buffer
	require.NoError(t, p.WriteTar(t.Context(), &b))
	path := filepath.Join(t.TempDir(), "sample.tar")
	require.NoError(t, os.WriteFile(path, b.Bytes(), 0o600))
	return p, path
}

func readTar(ctx context.Context, path string) (*Package, error) {
	f, err := OpenTar(path)
	if err != nil {
		return nil, err
	}
	defer func() { _ = f.Close() }()
	p, err := Read(ctx, f, f.Root())
	if err != nil {
		return nil, err
	}
	for _, d := range p.Descriptors() {
		r, err := p.Open(ctx, d)
		if err != nil {
			return nil, err
		}
		if _, err := io.Copy(io.Discard, r); err != nil {
			return nil, err
		}
	}
	return p, nil
}

// The same input makes the same bytes, in another directory and with other times too, and what
// is read is what was built.
func TestReproducible(t *testing.T) {
	t.Parallel()
	_, key, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	build := func() (*Package, string) {
		in := sample(t)
		in.Sign = func(s Signed) ([]byte, error) { return Sign(key, s), nil }
		return pack(t, in)
	}
	one, path := build()
	two, other := build()
	if a, b := require.Must(os.ReadFile(path))(t), require.Must(os.ReadFile(other))(t); !bytes.Equal(a, b) || one.Digest != two.Digest {
		t.Error("two builds differ")
	}
	got := require.Must(readTar(t.Context(), path))(t)
	if got.Digest != one.Digest || !bytes.Equal(got.Text, one.Text) || got.Manifest.Definitions[0].Name != "sample.greet" || got.Signature == nil {
		t.Errorf("read %+v", got)
	}
	if d, err := got.File("linux/arm64"); err != nil || d.Size != 8 || d.MediaType != MediaTypeBinary {
		t.Errorf("%+v, %v", d, err)
	}
	if _, err := got.File("plan9/386"); err == nil || !strings.Contains(err.Error(), "only for linux/amd64, linux/arm64") {
		t.Errorf("another platform: %v", err)
	}
}

// A file that changed after it was hashed is not packed.
func TestChangedFile(t *testing.T) {
	t.Parallel()
	in := sample(t)
	p, _ := pack(t, in)
	require.NoError(t, os.WriteFile(in.Files["linux/amd64"], []byte("binary x"), 0o600))
	assert.ErrorIs(t, p.WriteTar(t.Context(), io.Discard), ErrContent)
}

// No blob is believed: another content, a shorter and a longer one.
func TestWrongContent(t *testing.T) {
	t.Parallel()
	p, _ := pack(t, sample(t))
	d := require.Must(p.File("linux/amd64"))(t)
	for _, content := range []string{"binary b", "binary", "binary a and more", ""} {
		p.blobs = fixed(content)
		r := require.Must(p.Open(t.Context(), d))(t)
		if _, err := io.ReadAll(r); !errors.Is(err, ErrContent) {
			t.Errorf("%q: %v", content, err)
		}
	}
}

type fixed string

func (f fixed) Fetch(context.Context, ocispec.Descriptor) (io.ReadCloser, error) {
	return io.NopCloser(strings.NewReader(string(f))), nil
}
