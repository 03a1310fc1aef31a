package installed

import (
	"bytes"
	"crypto/rand"
	"errors"
	"fmt"
	"io/fs"
	"path"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
)

// KeptVersions is how many versions of a plugin are kept, that which is served included.
const KeptVersions = 3

// Prepared is a version that is complete and not served yet. End it with [Prepared.Put] or
// [Prepared.Discard].
type Prepared struct {
	dir *Dir
	Version
	next string // the file in the plugin directory
}

// Prepare makes a version of a file in the download directory, which it takes away. Nothing that is
// served changes.
//
// # Errors
//
// Those of the system; what was made is removed then.
func (d *Dir) Prepare(o Origin, s pluginpackage.Signed, download string) (*Prepared, error) {
	v := Version{Origin: o, Manifest: digest.FromBytes(s.Text).Encoded(), Signature: s.Signature}
	root, from := d.marked.Root(), path.Join(downloadsDir, download)
	err := root.Chmod(from, 0o755)
	if err == nil {
		err = root.Rename(from, path.Join(contentDir, o.SHA256))
	}
	if err == nil {
		err = safefile.Replace(d.at(contentDir, v.Manifest), s.Text, 0o600)
	}
	p := &Prepared{dir: d, Version: v}
	if err == nil {
		err = p.link(s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s cannot be installed: %w", o.Name, o.Version, err), p.Discard())
	}
	return p, nil
}

// PrepareKept makes a version that is there ready to be served again.
//
// # Errors
//
// [marked.ErrDamaged] if it is not as it was; those of the system.
func (d *Dir) PrepareKept(v Version) (*Prepared, error) {
	sum, err := d.hash(path.Join(contentDir, v.SHA256))
	if err == nil && sum != v.SHA256 {
		err = marked.ErrDamaged
	}
	var s pluginpackage.Signed
	if err == nil {
		s, err = d.Signed(v)
	}
	p := &Prepared{dir: d, Version: v}
	if err == nil {
		err = p.link(s)
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s %s, which is kept, cannot be used: %w", v.Name, v.Version, err), p.Discard())
	}
	return p, nil
}

// link puts the version's file into the plugin directory under a name that is not served, and its
// manifest where the host looks for it.
func (p *Prepared) link(s pluginpackage.Signed) error {
	if err := p.dir.sign(p.SHA256, s); err != nil {
		return err
	}
	p.next = path.Join(pluginsDir, marked.Temporary+rand.Text())
	return p.dir.marked.Root().Link(path.Join(contentDir, p.SHA256), p.next)
}

// sign puts the manifest of a file, and its signature, where the host looks for them.
func (d *Dir) sign(sha256 string, s pluginpackage.Signed) error {
	root, at := d.marked.Root(), path.Join(signedDir, sha256)
	manifest, _ := marked.ReadPrivate(root, path.Join(at, manifestName), pluginpackage.MaxManifest)
	signature, _ := marked.ReadPrivate(root, path.Join(at, signatureName), pluginpackage.MaxSignature)
	if bytes.Equal(manifest, s.Text) && bytes.Equal(signature, s.Signature) {
		return nil
	}
	temp := path.Join(signedDir, marked.Temporary+rand.Text())
	err := root.Mkdir(temp, 0o700)
	if err == nil {
		err = safefile.Replace(d.at(temp, manifestName), s.Text, 0o600)
	}
	if err == nil && s.Signature != nil {
		err = safefile.Replace(d.at(temp, signatureName), s.Signature, 0o600)
	}
	if err == nil { // the same file under another manifest
		err = root.RemoveAll(at)
	}
	if err == nil {
		err = root.Rename(temp, at)
	}
	if err != nil {
		return err
	}
	return safefile.SyncDir(d.at(signedDir))
}

// Put puts the version in place, in one rename, and removes the oldest versions.
//
// # Errors
//
// Those of the system: what was served before is still in place, unless only what is old could not
// be removed.
func (p *Prepared) Put() error {
	root, before := p.dir.marked.Root(), []Version(nil)
	err := p.dir.change(p.Name, func(versions []Version) []Version {
		before = versions
		others := slices.DeleteFunc(slices.Clone(versions), func(v Version) bool { return v.Version == p.Version.Version })
		return slices.Insert(others, 0, p.Version)[:min(len(others)+1, KeptVersions)]
	})
	if err != nil {
		return err
	}
	if err := root.Rename(p.next, path.Join(pluginsDir, p.Name)); err != nil {
		return errors.Join(err, p.dir.change(p.Name, func([]Version) []Version { return before }))
	}
	return errors.Join(safefile.SyncDir(p.dir.at(pluginsDir)), p.Discard())
}

// Discard removes what was made for a version that is not put in place.
//
// # Errors
//
// Those of the system.
func (p *Prepared) Discard() error { return p.dir.prune() }

// change changes the versions of a plugin.
func (d *Dir) change(name string, change func([]Version) []Version) error {
	return d.record.Update(func(all *map[string][]Version) error {
		if *all == nil {
			*all = map[string][]Version{}
		}
		(*all)[name] = change((*all)[name])
		if len((*all)[name]) == 0 {
			delete(*all, name)
		}
		return nil
	})
}

// at is the path of what is in the directory.
func (d *Dir) at(names ...string) string {
	return filepath.Join(d.marked.Path(), filepath.Join(names...))
}

// Remove removes a plugin and all its versions.
//
// # Errors
//
// A plain error if its file is none that was installed; those of the system.
func (d *Dir) Remove(name string) error {
	p, err := d.Plugin(name)
	if err != nil || len(p.Versions) == 0 {
		return err
	}
	at := path.Join(pluginsDir, name)
	if p.Changed {
		return fmt.Errorf("%s was not put there by toolhost plugins install: look at it, and remove it yourself", d.at(at))
	}
	if err := d.marked.Root().Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	err = errors.Join(safefile.SyncDir(d.at(pluginsDir)), d.change(name, func([]Version) []Version { return nil }))
	return errors.Join(err, d.Hear(name, Said{}), d.prune())
}
