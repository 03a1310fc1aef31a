package installed

import (
	"bytes"
	"crypto/rand"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginpackage"
)

// KeptVersions is how many versions of a plugin are kept, that which is served included.
const KeptVersions = 3

// Prepared is a version that is complete and not served yet. End it with [Prepared.Put] or
// [Prepared.Discard].
type Prepared struct {
	dir *Dir
	Origin
	next string // the file in the plugin directory
	// undo removes what was made for it.
	undo []func() error
}

// Prepare makes a version of a file in the download directory, which it takes away. Nothing that is
// served changes.
//
// # Errors
//
// Those of the system; what was made is removed then.
func (d *Dir) Prepare(o Origin, s pluginpackage.Signed, download string) (_ *Prepared, err error) {
	p := &Prepared{dir: d, Origin: o}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s %s cannot be installed: %w", o.Name, o.Version, err), p.Discard())
		}
	}()
	above := path.Join(versionsDir, o.Name)
	if err := d.marked.Root().MkdirAll(above, 0o700); err != nil {
		return nil, err
	}
	p.undo = append(p.undo, func() error { // if it is empty
		_ = d.marked.Root().Remove(above)
		return nil
	})
	temp := path.Join(above, marked.Temporary+rand.Text())
	if err := d.marked.Root().Mkdir(temp, 0o700); err != nil {
		return nil, err
	}
	p.undo = append(p.undo, func() error { return d.marked.Root().RemoveAll(temp) })
	origin, err := json.MarshalIndent(o, "", "  ")
	if err != nil {
		return nil, err
	}
	files := map[string][]byte{manifestName: s.Text, originName: append(origin, '\n')}
	if s.Signature != nil {
		files[signatureName] = s.Signature
	}
	for name, content := range files {
		if err := d.write(path.Join(temp, name), content); err != nil {
			return nil, err
		}
	}
	binary := path.Join(temp, binaryName)
	if err := d.marked.Root().Rename(path.Join(downloadsDir, download), binary); err != nil {
		return nil, err
	}
	if err := errors.Join(d.marked.Root().Chmod(binary, 0o755), d.sync(temp)); err != nil {
		return nil, err
	}
	if err := p.name(temp); err != nil {
		return nil, err
	}
	return p, p.link(s)
}

// name gives the version its name, in place of one that was there.
func (p *Prepared) name(temp string) error {
	root, at := p.dir.marked.Root(), path.Join(versionsDir, p.Name, p.Version)
	if _, err := root.Lstat(at); err == nil {
		before := path.Join(versionsDir, p.Name, marked.Temporary+rand.Text())
		if err := root.Rename(at, before); err != nil {
			return err
		}
		p.undo = append(p.undo, func() error { return root.Rename(before, at) })
	} else if !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	if err := root.Rename(temp, at); err != nil {
		return err
	}
	p.undo = append(p.undo, func() error { return root.RemoveAll(at) })
	return p.dir.sync(path.Join(versionsDir, p.Name))
}

// PrepareKept makes a version that is there ready to be served again.
//
// # Errors
//
// [marked.ErrDamaged] if it is not as it was; those of the system.
func (d *Dir) PrepareKept(v Version) (_ *Prepared, err error) {
	p := &Prepared{dir: d, Origin: v.Origin}
	defer func() {
		if err != nil {
			err = errors.Join(fmt.Errorf("%s %s, which is kept, cannot be used: %w", v.Name, v.Version, err), p.Discard())
		}
	}()
	sum, err := d.hash(path.Join(versionsDir, v.Name, v.Version, binaryName))
	if err == nil && sum != v.SHA256 {
		err = marked.ErrDamaged
	}
	if err != nil {
		return nil, err
	}
	s, err := d.Signed(v)
	if err != nil {
		return nil, err
	}
	return p, p.link(s)
}

// link puts the version's file into the plugin directory under a name that is not served, and its
// manifest where the host looks for it.
func (p *Prepared) link(s pluginpackage.Signed) error {
	root := p.dir.marked.Root()
	if err := p.sign(s); err != nil {
		return err
	}
	p.next = path.Join(pluginsDir, marked.Temporary+rand.Text())
	err := root.Link(path.Join(versionsDir, p.Name, p.Version, binaryName), p.next)
	if err == nil {
		p.undo = append(p.undo, func() error { return root.Remove(p.next) })
	}
	return err
}

// sign puts the manifest and its signature where the host looks for them.
func (p *Prepared) sign(s pluginpackage.Signed) error {
	root, at := p.dir.marked.Root(), path.Join(signedDir, p.SHA256)
	if before, err := marked.ReadPrivate(root, path.Join(at, manifestName), pluginpackage.MaxManifest); err == nil && bytes.Equal(before, s.Text) {
		signature, err := marked.ReadPrivate(root, path.Join(at, signatureName), pluginpackage.MaxSignature)
		if errors.Is(err, fs.ErrNotExist) && s.Signature == nil || err == nil && bytes.Equal(signature, s.Signature) {
			return nil
		}
	}
	temp := path.Join(signedDir, marked.Temporary+rand.Text())
	if err := root.Mkdir(temp, 0o700); err != nil {
		return err
	}
	err := p.dir.write(path.Join(temp, manifestName), s.Text)
	if err == nil && s.Signature != nil {
		err = p.dir.write(path.Join(temp, signatureName), s.Signature)
	}
	if err == nil {
		err = p.dir.sync(temp)
	}
	if err == nil { // the same file under another manifest
		err = root.RemoveAll(at)
	}
	if err == nil {
		err = root.Rename(temp, at)
	}
	if err != nil {
		return errors.Join(err, root.RemoveAll(temp))
	}
	return p.dir.sync(signedDir)
}

// Put puts the version in place, in one rename, and removes the oldest versions.
//
// # Errors
//
// Those of the system: what was served before is still in place, unless only what is old could not
// be removed.
func (p *Prepared) Put() error {
	root := p.dir.marked.Root()
	at := path.Join(pluginsDir, p.Name)
	if now, err := root.Lstat(at); err == nil {
		next, err := root.Lstat(p.next)
		if err != nil {
			return err
		}
		if os.SameFile(now, next) { // a rename would leave both
			return p.done()
		}
	}
	if err := root.Rename(p.next, at); err != nil {
		return err
	}
	return p.done()
}

func (p *Prepared) done() error {
	root, now := p.dir.marked.Root(), time.Now()
	p.undo = nil
	if err := root.Remove(p.next); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	origin := path.Join(versionsDir, p.Name, p.Version, originName)
	return errors.Join(p.dir.sync(pluginsDir), root.Chtimes(origin, now, now), p.dir.sweep(), p.dir.prune(p.Name))
}

// Discard removes what was made for a version that is not put in place.
//
// # Errors
//
// Those of the system.
func (p *Prepared) Discard() (err error) {
	for _, undo := range slices.Backward(p.undo) {
		if bad := undo(); !errors.Is(bad, fs.ErrNotExist) {
			err = errors.Join(err, bad)
		}
	}
	p.undo = nil
	return err
}

// write makes a file that a power cut does not tear.
func (d *Dir) write(name string, content []byte) error {
	f, err := d.marked.Root().OpenFile(name, os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	return errors.Join(err, f.Sync(), f.Close())
}

// prune removes the oldest versions of a plugin, and the manifests of files that are not there.
func (d *Dir) prune(name string) error {
	p, err := d.Plugin(name)
	if err != nil {
		return err
	}
	left := KeptVersions
	if _, ok := p.Current(); ok {
		left--
	}
	for _, v := range p.Versions {
		switch {
		case v.Current:
		case left > 0:
			left--
		default:
			err = errors.Join(err, d.marked.Root().RemoveAll(path.Join(versionsDir, name, v.Version)))
		}
	}
	return errors.Join(err, d.pruneSigned())
}

func (d *Dir) pruneSigned() error {
	all, err := d.Plugins()
	if err != nil {
		return err
	}
	used := map[string]bool{}
	for _, p := range all {
		for _, v := range p.Versions {
			used[v.SHA256] = true
		}
	}
	names, err := d.names(signedDir)
	for _, sum := range names {
		if !used[sum] {
			err = errors.Join(err, d.marked.Root().RemoveAll(path.Join(signedDir, sum)))
		}
	}
	return err
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
		return fmt.Errorf("%s was not put there by toolhost plugins install: look at it, and remove it yourself", path.Join(d.marked.Path(), at))
	}
	if err := d.marked.Root().Remove(at); err != nil && !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return errors.Join(d.sync(pluginsDir), d.marked.Root().RemoveAll(path.Join(versionsDir, name)), d.pruneSigned())
}
