package main

import (
	"encoding/base64"
	"encoding/json"
	"fmt"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	ocispec "github.com/opencontainers/image-spec/specs-go/v1"
	"oras.land/oras-go/v2"
	"oras.land/oras-go/v2/content/memory"
	"oras.land/oras-go/v2/registry/remote"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/registrytest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// project makes the directory of a plugin to pack: the fs plugin for this platform, a script for
// another, and the plugin.yaml.
func (w *world) project(more string) (dir string) {
	w.t.Helper()
	dir = w.t.TempDir()
	require.NoError(w.t, os.Link(filepath.Join(built.dir, "fs"), filepath.Join(dir, "fs")))
	files := map[string]string{
		"script":  "#!/bin/sh\nexec true\n",
		"LICENSE": "Do what you like.\n",
		"plugin.yaml": fmt.Sprintf("description: Files.\nlicense: Apache-2.0\nlicense_file: LICENSE\nsource: https://example.com/fs\n"+
			"binaries:\n  %s/%s: fs\n  plan9/386: script\n", runtime.GOOS, runtime.GOARCH) + more,
	}
	for name, text := range files {
		require.NoError(w.t, os.WriteFile(filepath.Join(dir, name), []byte(text), 0o600))
	}
	return dir
}

// packed is what dev pack --json prints.
type packed struct {
	File, Digest, Key string
	Manifest          pluginpackage.Manifest
	Pushed            *struct {
		Reference string
		Blobs     int
	}
}

// What is packed has what the plugin says of itself, is the same each time, and is read again; a
// registry has it under the same digest, and other programs for registries fetch it.
func TestPluginPack(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.project("")
	key := filepath.Join(t.TempDir(), "acme.key")
	w.env = append(w.env, "DOCKER_CONFIG="+t.TempDir())
	keygen := []string{"dev", "keygen", key, "--json"}
	if testing.Short() { // each use of a password takes 6 s of the machine and a GiB
		keygen = append(keygen, "--no-password")
	} else {
		w.env = append(w.env, "TOOLHOST_KEY_PASSWORD=hunter2")
	}
	var made struct{ ID, Public, File string }
	w.bare(keygen...).exits(0).json(&made)
	text := read(t, key)
	if strings.Contains(text, "hunter2") || strings.Contains(text, "\nRWRTY0Iy") == testing.Short() { // of keys with a password
		t.Errorf("the secret key is %s", text)
	}
	w.bare(keygen...).exits(2).says("there is a key already")

	var first, second packed
	w.bare("dev", "pack", dir, "--sign", key, "--json").exits(0).json(&first)
	m := first.Manifest
	if m.Name != "fs" || m.Version == "" || m.CreatedBy == "" || len(m.Definitions) < 5 || m.Needs == nil || len(m.SBOM) != 2 || first.Key != made.ID {
		t.Errorf("packed %+v", first)
	}
	w.bare("dev", "pack", dir, "--sign", key, "-o", filepath.Join(dir, "again.tar"), "--json").exits(0).json(&second)
	if a, b := read(t, first.File), read(t, second.File); a != b || first.Digest != second.Digest {
		t.Errorf("%s and %s differ", first.File, second.File)
	}
	w.bare("dev", "inspect", first.File).exits(0).prints(m.Version).prints("fs.read").prints("CycloneDX").prints(made.ID).prints("no trusted publisher")
	w.write("trusting.yaml", "trust: {publishers: {acme: {keys: ["+made.Public+"], plugins: [fs]}}}\n")
	w.bare("--config", "trusting.yaml", "dev", "inspect", first.File).exits(0).prints("by acme, with key " + made.ID)
	w.write("narrow.yaml", "trust: {publishers: {acme: {keys: ["+made.Public+"], plugins: [fs], max_safety: safe}}}\n")
	w.bare("--config", "narrow.yaml", "dev", "inspect", first.File).exits(1).prints("is dangerous, above safe")

	server := httptest.NewServer(registrytest.New(t))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	ref := "oci://" + host + "/acme/fs"
	w.bare("dev", "pack", first.File, "--push", ref).exits(0).prints("pushed " + ref + ":" + m.Version + "@" + first.Digest)
	w.bare("dev", "pack", first.File, "--push", ref).exits(0) // which it has
	w.bare("dev", "pack", dir, "--description", "Other files.").exits(0)
	w.bare("dev", "pack", first.File, "--push", ref).exits(5).says("the tag is another package's").says("--force")
	w.bare("dev", "pack", first.File, "--push", ref+":next").exits(0)
	w.bare("dev", "pack", second.File, "--push", ref+":next", "--force").exits(0).prints(first.Digest)
	w.bare("dev", "inspect", ref+":"+m.Version).exits(0).prints(first.Digest)

	repository := require.Must(remote.NewRepository(host + "/acme/fs"))(t)
	repository.PlainHTTP = true
	store := memory.New()
	root, err := oras.Copy(t.Context(), repository, m.Version, store, "", oras.DefaultCopyOptions)
	if err != nil || root.Digest.String() != first.Digest || root.MediaType != ocispec.MediaTypeImageManifest {
		t.Fatalf("ORAS fetches %+v, %v", root, err)
	}
	if p, err := pluginpackage.Read(t.Context(), store, root); err != nil || p.Manifest.Version != m.Version {
		t.Errorf("what ORAS fetched: %v", err)
	}
}

func read(t *testing.T, path string) string {
	t.Helper()
	text := require.Must(os.ReadFile(path))(t)
	return string(text)
}

// onlyFor is a server that answers one user alone.
func onlyFor(user, password string, inner http.Handler) http.Handler {
	return http.HandlerFunc(func(rw http.ResponseWriter, r *http.Request) {
		if u, p, ok := r.BasicAuth(); !ok || u != user || p != password {
			rw.Header().Set("WWW-Authenticate", `Basic realm="registry"`)
			rw.WriteHeader(http.StatusUnauthorized)
			return
		}
		inner.ServeHTTP(rw, r)
	})
}

// Credentials are those of Docker's configuration; without them, the refusal says what to do.
func TestPluginPushCredentials(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	docker := t.TempDir()
	w.env = append(w.env, "DOCKER_CONFIG="+docker)
	server := httptest.NewServer(onlyFor("ann", "hunter2", registrytest.New(t)))
	t.Cleanup(server.Close)
	host := strings.TrimPrefix(server.URL, "http://")
	var out packed
	w.bare("dev", "pack", w.project(""), "--json").exits(0).json(&out)
	w.bare("dev", "pack", out.File, "--push", "oci://"+host+"/fs").exits(1).says("docker login " + host)
	config, err := json.Marshal(map[string]any{"auths": map[string]any{host: map[string]string{"auth": base64.StdEncoding.EncodeToString([]byte("ann:hunter2"))}}})
	require.NoError(t, err)
	require.NoError(t, os.WriteFile(filepath.Join(docker, "config.json"), config, 0o600))
	w.bare("dev", "pack", out.File, "--push", "oci://"+host+"/fs").exits(0).prints(out.Digest)
}

// What cannot be packed is said before anything is written; the platform of a program is read from
// its header.
func TestPluginPackRefuses(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.project("")
	file := filepath.Join(dir, "fs")
	platform := runtime.GOOS + "/" + runtime.GOARCH
	encrypted := filepath.Join(t.TempDir(), "encrypted.key")
	require.NoError(t, os.WriteFile(encrypted, []byte("untrusted comment: minisign encrypted secret key\nRWRTY0Iy\n"), 0o600)) // what tells it
	for _, c := range []struct {
		args []string
		exit int
		want string
	}{
		{[]string{"--sign", encrypted}, 2, "there is no terminal to ask for the key's password"},
		{[]string{"--binary", "plan9/arm=" + file}, 2, "is a program for " + platform + ", and listed for plan9/arm"},
		{[]string{"--binary", "any=" + file}, 2, "which is for scripts"},
		{[]string{"--binary", platform + "=" + filepath.Join(dir, "LICENSE")}, 2, "nor a script"},
		{[]string{"--binary", platform}, 2, "has no file"},
		{[]string{"--binary", platform + "=" + filepath.Join(dir, "missing")}, 2, "missing"},
		{[]string{"--license", "Whatever"}, 2, "is not a licence expression"},
		{[]string{"--version", "9.9.9"}, 1, "build it with that version"},
		{[]string{"--name", "other"}, 1, "the plugin says that it is \"fs\""},
		{[]string{"--source", "http://example.com"}, 1, "is not an https URL"},
		{[]string{"--sbom", filepath.Join(dir, "LICENSE")}, 1, "not an SBOM"},
		{[]string{"--sign", filepath.Join(dir, "LICENSE")}, 2, "is not a secret key of minisign"},
		{[]string{"--sign", filepath.Join(dir, "missing")}, 2, "toolhost dev keygen"},
		{[]string{"--definitions", filepath.Join(dir, "LICENSE")}, 1, "--print-definitions"},
		{[]string{"--binary", "plan9/386=" + filepath.Join(dir, "script")}, 1, "no file is for " + platform},
		{[]string{"--push", "ghcr.io/acme/fs"}, 2, "expected oci://"},
		{[]string{"--binary", platform + "=" + filepath.Join(dir, "script")}, 1, "script"},
	} {
		w.bare(append([]string{"dev", "pack", dir}, c.args...)...).exits(c.exit).says(c.want)
	}
	if _, err := os.Stat(filepath.Join(dir, "dist")); err == nil {
		t.Error("something was written")
	}
	require.NoError(t, os.WriteFile(filepath.Join(dir, "plugin.yaml"), []byte("summary: x\n"), 0o600))
	w.bare("dev", "pack", dir).exits(2).says("summary")
	w.bare("dev", "pack", t.TempDir()).exits(2).says("has no binaries")
}

// Where no file runs, the package is made of what another machine printed, and is the same.
func TestPluginPackDefinitions(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := w.project("")
	said := filepath.Join(t.TempDir(), "said.json")
	printed := w.bare("dev", "pack", dir, "--print-definitions").exits(0).stdout
	require.NoError(t, os.WriteFile(said, []byte(printed), 0o600))
	var here, there packed
	w.bare("dev", "pack", dir, "--json").exits(0).json(&here)
	w.bare("dev", "pack", dir, "--definitions", said, "--json").exits(0).json(&there)
	if here.Digest != there.Digest {
		t.Errorf("%s and %s", here.Digest, there.Digest)
	}
}
