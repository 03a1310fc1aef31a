package host

import (
	"errors"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Trust is whose plugins may run. A plugin's file is signed if the plugin directory has
// .signed/SHA256/manifest.json and manifest.json.minisig for it, as its package brings them.
//
// A plugin whose signature is wrong, that is not what was signed, or that declares more than
// its publisher may, does not run, whether signatures are required or not. It is checked before
// each start, upgrade and rollback; a process that already runs goes on, and at the next
// [Host.Sync] its status says why it would not start again. Servers are not
// signed.
type Trust struct {
	// Required refuses plugins that no publisher of these has signed.
	Required bool
	// Publishers are those who are trusted, by name.
	Publishers map[string]Publisher
}

// Publisher is whom the operator trusts to publish plugins, and with what.
type Publisher = pluginpackage.Publisher

// WithTrust runs only plugins that are signed as the operator wants it. Default: the zero
// [Trust], and signatures are not looked at.
func WithTrust(t Trust) Option { return deciding(func(o *operator) { o.trust = t }) }

// signatures are pins that check signatures, of one plugin directory.
type signatures struct {
	trust Trust
	dir   string
	found *verdicts
}

// of returns the pins of a directory; nil: signatures do not count, or it is that of servers.
func (t Trust) of(dir string, found *verdicts) pluginrun.Pins {
	if dir == "" || !t.Required && len(t.Publishers) == 0 {
		return nil
	}
	return signatures{t, dir, found}
}

// Listed implements [pluginrun.Pins]: the digest of the file has to be known.
func (signatures) Listed(string) error { return nil }

// Binary implements [pluginrun.Pins].
func (p signatures) Binary(name, sha256 string) error {
	_, _, err := p.check(name, sha256)
	return err
}

// Described implements [pluginrun.Pins].
func (p signatures) Described(name, sha256 string, about wire.Description) error {
	s, verdict, err := p.check(name, sha256)
	if err != nil {
		return err
	}
	if verdict.Publisher != "" {
		if err := s.Manifest.CheckDescription(about.Tools, about.Needs); err != nil {
			return p.refusal(name, err)
		}
	}
	p.found.note(filepath.Join(p.dir, name), verdict)
	return nil
}

// check judges a file by its digest. What is signed with a key that is not known is as good as
// unsigned.
func (p signatures) check(name, sha256 string) (s pluginpackage.Signed, v plugin.Signature, err error) {
	s, err = pluginpackage.ReadSigned(p.dir, name, sha256)
	if err == nil {
		v.Publisher, err = pluginpackage.Publishers(p.trust.Publishers).CheckSigned(s)
	}
	switch {
	case err == nil:
		id, _ := s.Signer()
		v.Key, v.Version = pluginpackage.KeyID(id), s.Manifest.Version
		return s, v, nil
	case p.trust.Required, !errors.Is(err, pluginpackage.ErrUnsigned) && !errors.Is(err, pluginpackage.ErrUnknownKey):
		return s, v, p.refusal(name, err)
	case errors.Is(err, pluginpackage.ErrUnknownKey):
		id, _ := s.Signer()
		v.Key = pluginpackage.KeyID(id)
	}
	return s, v, nil
}

// refusal is the error of a plugin that does not run for its signature.
func (p signatures) refusal(name string, err error) error {
	hint := remedy.Install.String()
	switch {
	case errors.Is(err, pluginpackage.ErrUnsigned):
		hint += "; or, to run what is not signed, remove trust.required from the configuration"
	case errors.Is(err, pluginpackage.ErrUnknownKey):
		hint = "ask its publisher for the public key, over another channel than the package came by"
	case errors.Is(err, pluginpackage.ErrExceeds):
		hint = "if it may have that, say so under trust.publishers in the configuration"
	}
	return tool.Errorf(tool.CodeUnavailable, "plugin %s does not run: %w", name, err).
		Of("", name).At(callstage.Start).NeverSent().Fix(hint)
}

// verdicts are how the files that were started last are signed, by directory and plugin.
type verdicts struct {
	mu  sync.Mutex
	all map[string]plugin.Signature
}

func (v *verdicts) note(path string, s plugin.Signature) {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.all == nil {
		v.all = map[string]plugin.Signature{}
	}
	v.all[path] = s
}

// add adds the verdicts to the statuses of plugins.
func (v *verdicts) add(all []plugin.Status) []plugin.Status {
	v.mu.Lock()
	defer v.mu.Unlock()
	for i, s := range all {
		if found, ok := v.all[filepath.Join(filepath.Dir(s.Path), s.Name)]; ok && s.State != plugin.Refused {
			all[i].Signature = &found
		}
	}
	return all
}
