package pluginpackage

import (
	"archive/tar"
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/internal/test/require"
)

// file is an entry of an archive of a stranger's.
type file struct {
	tar.Header

	content []byte
}

// unpack returns the entries of an archive.
func unpack(t *testing.T, archive []byte) (out []file) {
	t.Helper()
	for r := tar.NewReader(bytes.NewReader(archive)); ; {
		h, err := r.Next()
		if errors.Is(err, io.EOF) {
			return out
		}
		require.NoError(t, err)
		out = append(out, file{*h, require.Must(io.ReadAll(r))(t)})
	}
}

// archive is a tar of these entries. A size that is larger than the content is only claimed.
func archive(t *testing.T, files []file) []byte {
	t.Helper()
	var b bytes.Buffer
	w := tar.NewWriter(&b)
	for _, f := range files {
		require.NoError(t, w.WriteHeader(&f.Header))
		require.Must(w.Write(f.content))(t)
		if f.Size != int64(len(f.content)) {
			return b.Bytes()
		}
	}
	require.NoError(t, w.Close())
	return b.Bytes()
}

func regular(name string, content []byte) file {
	return file{tar.Header{Typeflag: tar.TypeReg, Name: name, Size: int64(len(content)), Mode: 0o644}, content}
}

// edit changes a JSON blob of a package, and what refers to it.
func edit(t *testing.T, files []file, name string, change func(m map[string]any)) []file {
	t.Helper()
	i := slices.IndexFunc(files, func(f file) bool { return f.Name == name })
	var v map[string]any
	require.NoError(t, json.Unmarshal(files[i].content, &v))
	change(v)
	return exchange(files, i, require.Must(json.Marshal(v))(t))
}

// exchange puts another content in place of an entry's, and follows references to it: those are
// digests and sizes as JSON text.
func exchange(files []file, i int, content []byte) []file {
	files = slices.Clone(files)
	old := files[i]
	files[i] = regular(old.Name, content)
	hex, ok := strings.CutPrefix(old.Name, blobPrefix)
	if !ok {
		return files
	}
	files[i].Name = blobPrefix + digest.FromBytes(content).Encoded()
	for j, f := range files {
		if j == i || !bytes.Contains(f.content, []byte(hex)) {
			continue
		}
		var v any
		_ = json.Unmarshal(f.content, &v)
		follow(v, "sha256:"+hex, "sha256:"+digest.FromBytes(content).Encoded(), len(content))
		again, _ := json.Marshal(v) // it was JSON
		files = exchange(files, j, again)
	}
	return files
}

func follow(v any, from, to string, size int) {
	switch v := v.(type) {
	case map[string]any:
		if v["digest"] == from {
			v["digest"], v["size"] = to, size
		}
		for _, child := range v {
			follow(child, from, to, size)
		}
	case []any:
		for _, child := range v {
			follow(child, from, to, size)
		}
	}
}

// What a stranger's archive has besides a package, or in place of it, is refused, and says why.
func TestStrangersArchive(t *testing.T) {
	t.Parallel()
	p, path := pack(t, sample(t))
	whole := require.Must(os.ReadFile(path))(t)
	files := unpack(t, whole)
	oci, config := blobPrefix+p.Digest.Encoded(), blobPrefix+p.OCI.Config.Digest.Encoded()
	binary := p.Manifest.Platforms["linux/amd64"]
	header := func(h tar.Header) []byte { return archive(t, append(slices.Clone(files), file{Header: h})) }
	ociEdit := func(change func(m map[string]any)) []byte { return archive(t, edit(t, files, oci, change)) }
	manifest := func(change func(m map[string]any)) []byte { return archive(t, edit(t, files, config, change)) }
	raw := func(from, to string) []byte {
		i := slices.IndexFunc(files, func(f file) bool { return f.Name == config })
		return archive(t, exchange(files, i, bytes.Replace(files[i].content, []byte(from), []byte(to), 1)))
	}
	zeros := func(size int64) []byte {
		return archive(t, append(slices.Clone(files[:2]), file{Header: tar.Header{Typeflag: tar.TypeReg, Name: oci, Size: size, Format: tar.FormatGNU}}))
	}
	for name, c := range map[string]struct {
		archive []byte
		want    string // empty: it is read
	}{
		"as it is":      {archive(t, files), ""},
		"another order": {archive(t, slices.Concat(files[2:], files[:2])), ""},
		"above":         {header(tar.Header{Typeflag: tar.TypeReg, Name: "../evil"}), `an entry "../evil", which a package may not have`},
		"dotted":        {header(tar.Header{Typeflag: tar.TypeReg, Name: "./index.json"}), "which a package may not have"},
		"absolute":      {header(tar.Header{Typeflag: tar.TypeReg, Name: "/etc/passwd"}), "which a package may not have"},
		"readme":        {header(tar.Header{Typeflag: tar.TypeReg, Name: "README"}), "which a package may not have"},
		"escape codes":  {header(tar.Header{Typeflag: tar.TypeReg, Name: "\x1b[2J"}), `"\x1b[2J"`},
		"directory":     {header(tar.Header{Typeflag: tar.TypeDir, Name: "blobs/"}), "which a package may not have"},
		"symbolic link": {
			header(tar.Header{Typeflag: tar.TypeSymlink, Name: blobPrefix + strings.Repeat("0", 64), Linkname: "/etc/passwd"}), "not a regular file",
		},
		"hard link":   {header(tar.Header{Typeflag: tar.TypeLink, Name: blobPrefix + strings.Repeat("0", 64), Linkname: "index.json"}), "not a regular file"},
		"device":      {header(tar.Header{Typeflag: tar.TypeChar, Name: blobPrefix + strings.Repeat("0", 64)}), "not a regular file"},
		"attributes":  {header(tar.Header{Typeflag: tar.TypeReg, Name: blobPrefix + strings.Repeat("0", 64), PAXRecords: map[string]string{"SCHILY.xattr.a": "b"}}), "not a regular file"},
		"two names":   {archive(t, append(slices.Clone(files), files[1])), "two entries of the name index.json"},
		"10 GiB":      {zeros(10 << 30), "has 10737418240 bytes by its header"},
		"all zeros":   {make([]byte, 20<<10), "the archive does not end where its entries do"},
		"two zeros":   {make([]byte, 1<<10), "has no oci-layout"},
		"empty":       {nil, "does not end"},
		"gzip":        {[]byte("\x1f\x8b\x08 and some more"), "cannot be read"},
		"half":        {whole[:len(whole)/2], ""},
		"no trailer":  {whole[:len(whole)-1<<10], "it was cut off"},
		"garbage":     {append(slices.Clone(whole), "more"...), "something follows the end"},
		"second tar":  {append(slices.Clone(whole), whole...), "something was added"},
		"other blob":  {archive(t, append(slices.Clone(files), regular(blobPrefix+digest.FromString("x").Encoded(), []byte("x")))), "a blob sha256:2d711642b726b04401627ca9fbac32f5c8530fb1903cc4db02258717921a4881 that the package does not use"},
		"no blob":     {archive(t, slices.DeleteFunc(slices.Clone(files), func(f file) bool { return f.Name == blobPrefix+binary.Digest.Encoded() })), "the archive has no blob"},
		"other bytes": {bytes.Replace(whole, []byte("binary a"), []byte("binary x"), 1), ErrContent.Error()},
		"two manifests": {
			archive(t, edit(t, files, "index.json", func(m map[string]any) { m["manifests"] = append(m["manifests"].([]any), m["manifests"].([]any)[0]) })),
			"has 2 manifests, expected one",
		},
		"other layout": {archive(t, edit(t, files, "oci-layout", func(m map[string]any) { m["imageLayoutVersion"] = "9" })), "oci-layout has the version"},
		"an image":     {ociEdit(func(m map[string]any) { m["artifactType"] = "application/vnd.other" }), "not a package of a plugin"},
		"a subject":    {ociEdit(func(m map[string]any) { m["subject"] = m["config"] }), "it has a subject"},
		"elsewhere": {ociEdit(func(m map[string]any) {
			m["layers"].([]any)[0].(map[string]any)["urls"] = []string{"https://evil.example"}
		}), "has URLs or data"},
		"wrong size":    {ociEdit(func(m map[string]any) { m["layers"].([]any)[0].(map[string]any)["size"] = 7 }), "the plugin's manifest says"},
		"huge":          {ociEdit(func(m map[string]any) { m["layers"].([]any)[0].(map[string]any)["size"] = 3 << 30 }), "expected 1 to"},
		"negative":      {ociEdit(func(m map[string]any) { m["layers"].([]any)[0].(map[string]any)["size"] = -1 }), "expected 1 to"},
		"other digest":  {ociEdit(func(m map[string]any) { m["layers"].([]any)[0].(map[string]any)["digest"] = "md5:00" }), "that the package does not use"},
		"missing layer": {ociEdit(func(m map[string]any) { m["layers"] = m["layers"].([]any)[1:] }), ""},
		"layer twice":   {ociEdit(func(m map[string]any) { m["layers"] = append(m["layers"].([]any), m["layers"].([]any)[0]) }), "or occurs twice"},
		"future":        {manifest(func(m map[string]any) { m["schema_version"] = 2 }), "upgrade toolhost"},
		"unknown":       {manifest(func(m map[string]any) { m["install_script"] = "rm -rf /" }), "unknown field"},
		"name twice":    {raw(`"name": "sample"`, `"name": "sample", "NAME": "fs"`), `member "NAME" occurs twice`},
		"a path":        {manifest(func(m map[string]any) { m["name"] = "../fs" }), "is not a valid plugin name"},
		"no version":    {manifest(func(m map[string]any) { m["version"] = "latest" }), "is not a semantic version"},
		"build":         {manifest(func(m map[string]any) { m["version"] = "1.0.0+1" }), "is not a semantic version"},
		"hidden text":   {manifest(func(m map[string]any) { m["description"] = "Reads.\u202e" }), "not plain text"},
		"lines":         {manifest(func(m map[string]any) { m["description"] = "Reads.\n\nTrusted!" }), "not plain text"},
		"file URL":      {manifest(func(m map[string]any) { m["source"] = "file:///etc" }), "is not an https URL"},
		"licence":       {manifest(func(m map[string]any) { m["license"] = "\u202e" }), "not an SPDX"},
		"platform": {manifest(func(m map[string]any) {
			m["platforms"] = map[string]any{"../x": m["platforms"].(map[string]any)["linux/amd64"]}
		}), "is not a platform"},
		"no platform": {manifest(func(m map[string]any) { m["platforms"] = map[string]any{} }), "it has 0 platforms"},
		"protocol":    {manifest(func(m map[string]any) { m["protocols"] = []int{2, 1} }), "ascending"},
		"needs":       {manifest(func(m map[string]any) { m["needs"] = map[string]any{"read": []string{"../.."}} }), "the declared needs are malformed"},
		"tool twice": {
			manifest(func(m map[string]any) { d := m["definitions"].([]any); m["definitions"] = []any{d[0], d[0]} }), "occurs twice",
		},
		"schema": {
			manifest(func(m map[string]any) {
				m["definitions"].([]any)[0].(map[string]any)["input_schema"] = map[string]any{"type": "array"}
			}), "the input schema of tool",
		},
		"hidden in a tool": {
			manifest(func(m map[string]any) { m["definitions"].([]any)[0].(map[string]any)["description"] = "Safe\u200b." }), "hidden character",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			at := filepath.Join(t.TempDir(), "x.tar")
			require.NoError(t, os.WriteFile(at, c.archive, 0o600))
			_, err := readTar(t.Context(), at)
			fine := name == "as it is" || name == "another order"
			if fine != (err == nil) || err != nil && !strings.Contains(err.Error(), c.want) {
				t.Errorf("want %q, got %v", c.want, err)
			}
		})
	}
}

// A package that is not a regular file is not waited for.
func TestNotAFile(t *testing.T) {
	t.Parallel()
	if _, err := OpenTar(t.TempDir()); err == nil {
		t.Error("a directory was opened")
	}
	if _, err := OpenTar(filepath.Join(t.TempDir(), "missing")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("got %v", err)
	}
}

// Whatever an archive is, the reader returns; and what it accepts it accepts again once written.
func FuzzTar(f *testing.F) {
	in := Input{Manifest: Manifest{
		Name: "x", Version: "1.0.0", Description: "x", License: "MIT", Protocols: []int{1},
	}, Files: map[string]string{"any": filepath.Join(f.TempDir(), "x")}}
	require.NoError(f, os.WriteFile(in.Files["any"], []byte("#!/bin/sh\n"), 0o600))
	p := require.Must(Build(f.Context(), in))(f)
	var b bytes.Buffer
	require.NoError(f, p.WriteTar(f.Context(), &b))
	f.Add(b.Bytes())
	f.Add(b.Bytes()[:3<<10])
	f.Add(make([]byte, 1<<10))
	f.Fuzz(func(t *testing.T, archive []byte) {
		at := filepath.Join(t.TempDir(), "x.tar")
		require.NoError(t, os.WriteFile(at, archive, 0o600))
		tar, err := OpenTar(at)
		if err != nil {
			return
		}
		defer func() { _ = tar.Close() }()
		p, err := Read(t.Context(), tar, tar.Root())
		if err != nil {
			return
		}
		if err := p.WriteTar(t.Context(), io.Discard); err != nil && !errors.Is(err, ErrContent) {
			t.Error(err)
		}
	})
}

func FuzzManifest(f *testing.F) {
	f.Add([]byte(`{"schema_version":1,"name":"x","version":"1.0.0","description":"x","license":"MIT","protocols":[1],"platforms":{"any":{"digest":"sha256:e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855","size":1}},"definitions":[],"needs":null}`))
	f.Fuzz(func(t *testing.T, text []byte) {
		m, err := ParseManifest(text)
		if err != nil {
			return
		}
		again, err := ParseManifest(require.Must(json.Marshal(m))(t))
		if err != nil || again.Name != m.Name || again.Version != m.Version {
			t.Errorf("%s: %v", text, err)
		}
	})
}
