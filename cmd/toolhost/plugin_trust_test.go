package main

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/require"
)

// sign puts the signed manifest of a package next to the plugins.
func (w *world) sign(archive string) {
	w.t.Helper()
	tar := require.Must(pluginpackage.OpenTar(archive))(w.t)
	defer func() { _ = tar.Close() }()
	p := require.Must(pluginpackage.Read(w.t.Context(), tar, tar.Root()))(w.t)
	for _, b := range p.Manifest.Platforms {
		at := filepath.Join(w.plugins, pluginpackage.SignedDir, b.SHA256())
		require.NoError(w.t, os.MkdirAll(at, 0o700))
		for name, content := range map[string][]byte{pluginpackage.ManifestFile: p.Text, pluginpackage.SignatureFile: p.Signature} {
			require.NoError(w.t, os.WriteFile(filepath.Join(at, name), content, 0o600))
		}
	}
}

// Where signatures are required, what a publisher signed runs and is shown as signed, and what no one
// signed is refused with the reason; doctor finds both without a start.
func TestPluginTrust(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "buffer")
	key := filepath.Join(t.TempDir(), "acme.key")
	var made struct{ ID, Public string }
	w.bare("dev", "keygen", key, "--no-password", "--json").exits(0).json(&made)
	var out packed
	w.bare("dev", "pack", w.project(""), "--sign", key, "--json").exits(0).json(&out)
	w.sign(out.File)
	w.write("trust.yaml", "trust:\n  required: true\n  publishers:\n    acme:\n      keys: ["+made.Public+"]\n      plugins: [fs]\n")
	w.env = append(w.env, "TOOLHOST_CONFIG=trust.yaml")

	var fs, buffer plugin.Status
	w.run("plugins", "show", "fs", "--json").exits(0).json(&fs)
	if s := fs.Signature; s == nil || s.Publisher != "acme" || s.Key != made.ID || s.Version != out.Manifest.Version {
		t.Errorf("fs is %+v", fs)
	}
	w.run("plugins", "show", "fs").exits(0).prints("by acme, with key " + made.ID)
	w.run("plugins", "show", "buffer", "--json").exits(0).json(&buffer)
	if buffer.State != plugin.Refused || buffer.Signature != nil {
		t.Errorf("buffer is %+v", buffer)
	}
	w.run("plugins", "show", "buffer").exits(0).prints("it is not signed")
	doctor := w.run("doctor").prints("plugin buffer does not run: it is not signed", "1 of 2 plugins are signed")
	equal(t, "the status of doctor", doctor.status, 1)
	w.bare("config").exits(0).prints(`"required": true`, made.Public)
	w.bare("trust", "trust.yaml", "--yes").exits(0).prints("trusts the publisher acme ("+made.Public+") for the plugins fs", "runs only plugins that a publisher")
	w.write("bad.yaml", "trust:\n  required: true\n  publishers:\n    acme:\n      plugins: [fs]\n")
	w.bare("config", "check", "bad.yaml").exits(1).prints("trust.publishers.acme: ", "it has no keys")
	w.write("none.yaml", "trust:\n  required: true\n")
	w.bare("config", "check", "none.yaml").exits(1).prints("no plugin would run")
}
