package pluginpackage

import (
	"crypto/rand"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// signed is a package of the sample that a new key has signed, and that key.
func signed(t *testing.T) (*Package, minisign.PublicKey) {
	t.Helper()
	public, private, err := minisign.GenerateKey(rand.Reader)
	require.NoError(t, err)
	in := sample(t)
	in.Sign = func(s Signed) ([]byte, error) { return Sign(private, s), nil }
	p, _ := pack(t, in)
	return p, public
}

// Each thing that can be wrong with a signature is an error of its own.
func TestCheck(t *testing.T) {
	t.Parallel()
	p, public := signed(t)
	_, other := signed(t)
	by := func(key minisign.PublicKey, change func(p *Publisher)) Publishers {
		one := Publisher{Keys: []string{key.String()}, Plugins: []string{"sample"}}
		if change != nil {
			change(&one)
		}
		return Publishers{"acme": one}
	}
	with := func(change func(s *Signed)) Package {
		s := p.Signed
		change(&s)
		return Package{Signed: s}
	}
	for name, c := range map[string]struct {
		publishers Publishers
		p          Package
		want       error
		text       string
	}{
		"signed":        {by(public, nil), *p, nil, ""},
		"one of two":    {Publishers{"a": by(other, nil)["acme"], "acme": by(public, nil)["acme"]}, *p, nil, ""},
		"unsigned":      {by(public, nil), with(func(s *Signed) { s.Signature = nil }), ErrUnsigned, "sample 1.2.3: it is not signed"},
		"malformed":     {by(public, nil), with(func(s *Signed) { s.Signature = []byte("no") }), ErrMalformed, ""},
		"no publishers": {nil, *p, ErrUnknownKey, KeyID(public.ID())},
		"unknown":       {by(other, nil), *p, ErrUnknownKey, KeyID(public.ID()) + ": if you trust its owner, add the public key"},
		"changed":       {by(public, nil), with(func(s *Signed) { s.Text = append([]byte(" "), s.Text...) }), ErrWrong, ""},
		"comment": {by(public, nil), with(func(s *Signed) {
			s.Signature = []byte(strings.Replace(string(s.Signature), "plugin sample", "plugin simple", 1))
		}), ErrWrong, ""},
		"name":          {by(public, func(p *Publisher) { p.Plugins = []string{"acme-*"} }), *p, ErrExceeds, "acme: it may publish acme-*, and not sample"},
		"safety":        {by(public, func(p *Publisher) { p.MaxSafety = tool.Safe }), *p, ErrExceeds, "tool sample.send is cautious, above safe"},
		"permission":    {by(public, func(p *Publisher) { p.Permissions = []tool.Capability{tool.FSRead} }), *p, ErrExceeds, "its tools ask callers for net"},
		"needs":         {by(public, func(p *Publisher) { p.Needs = &tool.Needs{Read: []string{"any"}} }), *p, ErrExceeds, "it needs net api.example.com:443"},
		"needs covered": {by(public, func(p *Publisher) { p.Needs = &tool.Needs{Net: []string{"*.example.com:443"}} }), *p, nil, ""},
		"undeclared": {
			by(public, func(p *Publisher) { p.Needs = &tool.Needs{Net: []string{"any"}} }),
			with(func(s *Signed) { s.Manifest.Needs = nil }), ErrExceeds, "it does not declare what it needs",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			publisher, err := c.publishers.Check(&c.p)
			if !errors.Is(err, c.want) || (publisher == "acme") != (c.want == nil) || err != nil && !strings.Contains(err.Error(), c.text) {
				t.Errorf("%q, %v; want %v, %q", publisher, err, c.want, c.text)
			}
		})
	}
}

func TestMayComeFrom(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		glob, source string
		want         bool
	}{
		{"oci://ghcr.io/acme/*", "oci://ghcr.io/acme/hello", true},
		{"oci://ghcr.io/acme/*", "oci://ghcr.io/acme/deep/hello", false},
		{"oci://ghcr.io/acme/**", "oci://ghcr.io/acme/deep/hello", true},
		{"oci://ghcr.io/acme/**", "oci://ghcr.io/acme", false},
		{"oci://ghcr.io/acme/**", "oci://ghcr.io/acme/../evil/hello", false},
		{"oci://ghcr.io/acme/**", "oci://ghcr.io/acmexy/hello", false},
		{"oci://*.example.com/**", "oci://evil.example/a.example.com/hello", false},
		{"https://example.com/x.tar", "https://example.com/x.tar", true},
	} {
		assert.Equalf(t, (Publisher{Sources: []string{c.glob}}).MayComeFrom(c.source), c.want, "%s: %s", c.glob, c.source)
	}
	if !(Publisher{}).MayComeFrom("anywhere") {
		t.Error("without sources it may not come from anywhere")
	}
}

func TestValidatePublishers(t *testing.T) {
	t.Parallel()
	_, key := signed(t)
	good := Publisher{Keys: []string{key.String()}, Plugins: []string{"*"}}
	for want, change := range map[string]func(p *Publisher){
		"it has no keys":                func(p *Publisher) { p.Keys = nil },
		"is not a public key":           func(p *Publisher) { p.Keys = []string{"RWQ"} },
		"it has no plugins":             func(p *Publisher) { p.Plugins = nil },
		"is not a pattern":              func(p *Publisher) { p.Sources = []string{"[a"} },
		"is not a capability":           func(p *Publisher) { p.Permissions = []tool.Capability{"a b"} },
		"declared needs are malformed":  func(p *Publisher) { p.Needs = &tool.Needs{Net: []string{"x"}} },
		"is that of publisher acme too": func(p *Publisher) { p.Keys = append(p.Keys, p.Keys[0]) },
	} {
		p := good
		change(&p)
		assert.ErrorContainsf(t, (Publishers{"acme": p}).Validate(), want, "want %q", want)
	}
	assert.NoError(t, (Publishers{"acme": good}).Validate())
	if err := (Publishers{"acme": good, "other": good}).Validate(); err == nil {
		t.Error("two publishers have one key")
	}
}

// What the real minisign signs is taken, with its own comments, prehashed or not; and what is
// signed here, it takes.
func TestMinisign(t *testing.T) {
	t.Parallel()
	program, err := exec.LookPath("minisign")
	if err != nil {
		t.Skip("minisign is not installed")
	}
	dir := t.TempDir()
	run := func(args ...string) {
		t.Helper()
		cmd := exec.CommandContext(t.Context(), program, args...)
		cmd.Dir = dir
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("minisign %v: %v\n%s", args, err, out)
		}
	}
	put := func(name string, content []byte) {
		t.Helper()
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), content, 0o600))
	}
	run("-G", "-W", "-p", "k.pub", "-s", "k.key")
	var public minisign.PublicKey
	require.NoError(t, public.UnmarshalText(require.Must(os.ReadFile(filepath.Join(dir, "k.pub")))(t)))
	publishers := Publishers{"acme": {Keys: []string{public.String()}, Plugins: []string{"*"}}}
	for _, how := range []string{"-S", "-Sl"} {
		in := sample(t)
		in.Sign = func(s Signed) ([]byte, error) {
			put("manifest.json", s.Text)
			run(how, "-s", "k.key", "-m", "manifest.json")
			return os.ReadFile(filepath.Join(dir, "manifest.json.minisig"))
		}
		p, _ := pack(t, in)
		if by, err := publishers.Check(p); by != "acme" || err != nil {
			t.Errorf("%s: %q, %v", how, by, err)
		}
	}
	p, key := signed(t)
	put("ours.json", p.Text)
	put("ours.json.minisig", p.Signature)
	run("-V", "-P", key.String(), "-m", "ours.json")
}

// The key of a signature is that of its comment if it made it: its ID can be anyone's.
func TestKey(t *testing.T) {
	t.Parallel()
	p, public := signed(t)
	q, _ := signed(t)
	one := p.Key()
	if one != public.String() || !p.SignedBy(one) || q.SignedBy(one) {
		t.Errorf("the key is %s, of %s", one, public)
	}
	var forged minisign.Signature
	require.NoError(t, forged.UnmarshalText(q.Signature))
	forged.KeyID, forged.UntrustedComment = public.ID(), byKey+one
	q.Signature = require.Must(forged.MarshalText())(t)
	if q.SignedBy(one) || q.Key() != KeyID(public.ID()) {
		t.Errorf("a signature by another key passes for one by %s: %s", one, q.Key())
	}
	plain := p.Signed
	plain.Signature = []byte(strings.Replace(string(p.Signature), byKey+one, "signature from minisign secret key", 1))
	if id := plain.Key(); id != KeyID(public.ID()) || !p.SignedBy(id) {
		t.Errorf("without the key in its comment, it is %s", id)
	}
	if plain.Signature = nil; plain.Key() != "" || plain.SignedBy(one) {
		t.Error("what is not signed has a key")
	}
}
