package host_test

import (
	"bytes"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// publisher signs plugins.
type publisher struct {
	t       *testing.T
	private minisign.PrivateKey
	trusted host.Publisher
}

func newPublisher(t *testing.T) *publisher {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	return &publisher{t, private, host.Publisher{Keys: []string{public.String()}, Plugins: []string{"*"}}}
}

// manifest returns what a plugin of a directory says of itself, as a manifest.
func (p *publisher) manifest(dir, name string) pluginpackage.Manifest {
	p.t.Helper()
	h := newHost(p.t)
	require.Must(h.Load(p.t.Context(), dir))(p.t)
	m := pluginpackage.Manifest{
		Name: name, Version: "1.0.0", Description: "For tests.", License: "MIT", Protocols: []int{1}, Needs: pluginOf(h, name).Needs,
	}
	for _, t := range h.Tools(host.Filter{}) {
		if t.Owner == name {
			d := t.Definition
			d.Alias = ""
			m.Definitions = append(m.Definitions, d)
		}
	}
	return m
}

// sign puts a signed manifest next to a plugin of a directory, and returns where.
func (p *publisher) sign(dir, name string, m pluginpackage.Manifest) (at string) {
	p.t.Helper()
	built, err := pluginpackage.Build(p.t.Context(), pluginpackage.Input{
		Manifest: m, Files: map[string]string{pluginpackage.AnyPlatform: filepath.Join(dir, name)},
		Sign: func(s pluginpackage.Signed) ([]byte, error) { return pluginpackage.Sign(p.private, s), nil },
	})
	if err != nil {
		p.t.Fatal(err)
	}
	at = filepath.Join(dir, pluginpackage.SignedDir, built.Manifest.Platforms[pluginpackage.AnyPlatform].SHA256())
	put(p.t, filepath.Join(at, pluginpackage.ManifestFile), built.Text)
	put(p.t, filepath.Join(at, pluginpackage.SignatureFile), built.Signature)
	return at
}

// digestOf returns the SHA-256 of a file, in hexadecimal digits.
func digestOf(t *testing.T, path string) string {
	t.Helper()
	sum := sha256.Sum256(require.Must(os.ReadFile(path))(t))
	return hex.EncodeToString(sum[:])
}

func put(t *testing.T, path string, content []byte) {
	t.Helper()
	require.NoError(t, os.MkdirAll(filepath.Dir(path), 0o700))
	require.NoError(t, os.WriteFile(path, content, 0o600))
}

// What a trusted publisher signed runs, and is shown as signed, also when it is only remembered;
// each thing that can be wrong with a signature has its own refusal.
func TestTrust(t *testing.T) {
	t.Parallel()
	acme, other := newPublisher(t), newPublisher(t)
	for name, c := range map[string]struct {
		trust  func(p *host.Publisher)            // changes what acme may
		change func(m *pluginpackage.Manifest)    // changes what is signed
		after  func(t *testing.T, dir, at string) // changes what is on disk
		by     *publisher
		want   string // in the refusal; empty: it runs
		loose  bool   // it runs if signatures are not required
	}{
		"signed":   {},
		"unsigned": {after: func(_ *testing.T, _, at string) { _ = os.RemoveAll(at) }, want: "it is not signed", loose: true},
		"no signature": {
			after: func(_ *testing.T, _, at string) { _ = os.Remove(filepath.Join(at, pluginpackage.SignatureFile)) },
			want:  "it is not signed", loose: true,
		},
		"not minisign": {
			after: func(t *testing.T, _, at string) {
				put(t, filepath.Join(at, pluginpackage.SignatureFile), []byte("-----BEGIN\nPGP\n\n-----"))
			},
			want: "its signature is not one of minisign",
		},
		"unknown key": {by: other, want: pluginpackage.KeyID(other.private.ID()) + ": if you trust its owner, add the public key", loose: true},
		"manifest changed": {
			after: func(t *testing.T, _, at string) {
				path := filepath.Join(at, pluginpackage.ManifestFile)
				put(t, path, bytes.Replace(require.Must(os.ReadFile(path))(t), []byte("For tests."), []byte("For tests!"), 1))
			},
			want: "its signature does not fit its manifest",
		},
		"binary changed": {
			after: func(t *testing.T, dir, at string) {
				plugintest.Deploy(t, dir, "versioned", "2")
				sum := digestOf(t, filepath.Join(dir, "versioned"))
				require.NoError(t, os.Rename(at, filepath.Join(filepath.Dir(at), sum)))
			},
			want: "has no file with the digest sha256:",
		},
		"other name": {change: func(m *pluginpackage.Manifest) { m.Name = "another" }, want: "it is signed as another, and named versioned here"},
		"other tools": {
			change: func(m *pluginpackage.Manifest) { m.Definitions[0].Description = "Is harmless." },
			want:   "it serves other tools than were signed: ",
		},
		"more needs": {
			change: func(m *pluginpackage.Manifest) { m.Needs = &tool.Needs{} },
			want:   "it needs more than was signed: ",
		},
		"name not its own": {trust: func(p *host.Publisher) { p.Plugins = []string{"acme-*"} }, want: "it may publish acme-*, and not versioned"},
		"too dangerous": {
			trust:  func(p *host.Publisher) { p.MaxSafety = tool.Safe },
			change: func(m *pluginpackage.Manifest) { m.Definitions[0].Safety = tool.Cautious }, want: "is cautious, above safe",
		},
		"permission": {
			trust:  func(p *host.Publisher) { p.Permissions = []tool.Capability{} },
			change: func(m *pluginpackage.Manifest) { m.Definitions[0].Permission = tool.Exec }, want: "its tools ask callers for exec",
		},
		"needs": {trust: func(p *host.Publisher) { p.Needs = &tool.Needs{} }, want: "declares more than its publisher may, acme: it needs "},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			dir := t.TempDir()
			plugintest.Deploy(t, dir, "versioned", `1 {"read":["/etc/hosts"]}`)
			by := *acme
			if c.by != nil {
				by = *c.by
			}
			by.t = t
			m := by.manifest(dir, "versioned")
			if c.change != nil {
				c.change(&m)
			}
			at := by.sign(dir, "versioned", m)
			if c.after != nil {
				c.after(t, dir, at)
			}
			trusted := acme.trusted
			if c.trust != nil {
				c.trust(&trusted)
			}
			for _, required := range []bool{true, false} {
				h := newHost(t, host.WithTrust(host.Trust{Required: required, Publishers: map[string]host.Publisher{"acme": trusted}}))
				_, err := h.Load(t.Context(), dir)
				s := pluginOf(h, "versioned")
				if c.want == "" || c.loose && !required {
					if err != nil || s.State == plugin.Refused || s.Signature == nil || (s.Signature.Publisher == "acme") != (c.want == "") {
						t.Errorf("required %v: it does not run, or not as what it is: %v, %+v", required, err, s)
					}
					continue
				}
				if err == nil || !strings.Contains(err.Error(), c.want) || s.State != plugin.Refused || s.Starts > 1 || s.PID != 0 {
					t.Errorf("required %v: want the refusal %q, got %v, %+v", required, c.want, err, s)
				}
			}
		})
	}
}

// An upgrade to what is not signed leaves the signed one running, and one that is signed replaces
// it; so does a rollback, and what is remembered counts only with its signature.
func TestTrustOfUpgrades(t *testing.T) {
	t.Parallel()
	acme, dir, cache, kept := newPublisher(t), t.TempDir(), t.TempDir(), t.TempDir()
	trust := host.WithTrust(host.Trust{Required: true, Publishers: map[string]host.Publisher{"acme": acme.trusted}})
	sign := func() string { return acme.sign(dir, "versioned", acme.manifest(dir, "versioned")) }
	plugintest.Deploy(t, dir, "versioned", "1")
	first := sign()
	h := newHost(t, trust, host.WithCache(cache), host.WithState(kept))
	require.Must(h.Load(t.Context(), dir))(t)
	if version(t, h) != "1" {
		t.Fatal("it is another version")
	}
	require.Eventually(t, "the first binary is kept", func() bool { return len(pluginOf(h, "versioned").Kept) == 1 })
	plugintest.Deploy(t, dir, "versioned", "2")
	if err := h.Sync(t.Context(), dir); err == nil || !strings.Contains(err.Error(), "it is not signed") || version(t, h) != "1" {
		t.Fatalf("an upgrade to what is not signed: %v, version %s", err, version(t, h))
	}
	sign()
	if err := h.Sync(t.Context(), dir); err != nil || version(t, h) != "2" {
		t.Fatalf("an upgrade to what is signed: %v, version %s", err, version(t, h))
	}
	again := newHost(t, trust, host.WithCache(cache))
	require.Must(again.Load(t.Context(), dir))(t)
	if s := pluginOf(again, "versioned"); s.Starts != 0 || s.Signature == nil || s.Signature.Publisher != "acme" {
		t.Errorf("what is remembered: %+v", s)
	}
	require.Eventually(t, "the second is, too", func() bool { return len(pluginOf(h, "versioned").Kept) == 2 })
	if err := h.RollbackPlugin(t.Context(), "versioned"); err != nil || version(t, h) != "1" {
		t.Errorf("a rollback to what is signed: %v, version %s", err, version(t, h))
	}
	if err := h.RestartPlugin(t.Context(), "versioned"); err != nil || version(t, h) != "2" {
		t.Fatalf("back to the file: %v, version %s", err, version(t, h))
	}
	require.NoError(t, os.RemoveAll(first))
	if err := h.RollbackPlugin(t.Context(), "versioned"); err == nil || version(t, h) != "2" {
		t.Errorf("a rollback to what is not signed: %v, version %s", err, version(t, h))
	}
}

// A key that is taken back shows at the next sync, while the process goes on; a restart starts what may
// run and says why another may not.
func TestTrustTakenBack(t *testing.T) {
	t.Parallel()
	acme, dir := newPublisher(t), t.TempDir()
	trusted := host.Trust{Required: true, Publishers: map[string]host.Publisher{"acme": acme.trusted}}
	plugintest.Deploy(t, dir, "versioned", "1")
	acme.sign(dir, "versioned", acme.manifest(dir, "versioned"))
	h := newHost(t, host.WithTrust(trusted), host.WithCache(t.TempDir()))
	require.Must(h.Load(t.Context(), dir))(t)
	pid := pluginOf(h, "versioned").PID
	require.NoError(t, h.RestartPlugin(t.Context(), "versioned"))
	if s := pluginOf(h, "versioned"); s.State != plugin.Ready || s.PID == pid {
		t.Errorf("after a restart it is %+v", s)
	}
	pid = pluginOf(h, "versioned").PID

	require.NoError(t, h.Reconfigure(host.WithTrust(host.Trust{Required: true, Publishers: map[string]host.Publisher{"acme": newPublisher(t).trusted}})))
	err := h.Sync(t.Context(), dir)
	s := pluginOf(h, "versioned")
	if err == nil || !strings.Contains(err.Error(), "plugin versioned does not run") || !strings.Contains(s.Upgrade, "plugin versioned does not run") {
		t.Errorf("the sync says %v, the status %+v", err, s)
	}
	if s.State != plugin.Ready || s.PID != pid || version(t, h) != "1" {
		t.Errorf("it goes on as %+v", s)
	}
	if err := h.RestartPlugin(t.Context(), "versioned"); err == nil || pluginOf(h, "versioned").PID != pid {
		t.Errorf("a restart: %v, %+v", err, pluginOf(h, "versioned"))
	}

	require.NoError(t, h.Reconfigure(host.WithTrust(trusted)))
	require.NoError(t, h.Sync(t.Context(), dir))
	if s := pluginOf(h, "versioned"); s.Upgrade != "" || version(t, h) != "1" {
		t.Errorf("with the key back it is %+v", s)
	}
}
