package installed

import (
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path"
	"slices"
	"time"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
)

// The files of a version.
const (
	binaryName    = "binary"
	manifestName  = "manifest.json"
	signatureName = "manifest.json.minisig"
	originName    = "origin.json"
)

// Origin says where a version came from.
type Origin struct {
	Name    string `json:"name"`
	Version string `json:"version"`
	// Source is the REF of the package, with its digest, as a lock has it.
	Source string `json:"source"`
	// Package is the digest of the package, with sha256: in front.
	Package string `json:"package"`
	// Platform is the one that the file is for, such as linux/amd64, or any.
	Platform string `json:"platform"`
	// SHA256 is the digest of the file, in lower-case hexadecimal digits.
	SHA256 string `json:"sha256"`
	// Publisher is the name that the operator gave to who signed it. Empty: it was not checked.
	Publisher string `json:"publisher,omitempty"`
}

// Version is a version that is there.
type Version struct {
	Origin
	// Current says that it is the one that is served.
	Current bool `json:"current,omitempty"`
	// Put is when it was put in place last.
	Put time.Time `json:"put"`
}

// Plugin is a plugin of which there are versions.
type Plugin struct {
	Name string
	// Versions are what is there, that which was put in place last first.
	Versions []Version
	// Changed says that its file is there and none of the versions.
	Changed bool
}

// Current returns the version that is served; false: there is none.
func (p Plugin) Current() (Version, bool) {
	i := slices.IndexFunc(p.Versions, func(v Version) bool { return v.Current })
	if i < 0 {
		return Version{}, false
	}
	return p.Versions[i], true
}

// Find returns a version; false: it is not there.
func (p Plugin) Find(version string) (Version, bool) {
	i := slices.IndexFunc(p.Versions, func(v Version) bool { return v.Version == version })
	if i < 0 {
		return Version{}, false
	}
	return p.Versions[i], true
}

// Plugins returns what is installed, sorted by name.
//
// # Errors
//
// Those of the system. A version that is damaged is left out.
func (d *Dir) Plugins() ([]Plugin, error) {
	names, err := d.names(versionsDir)
	slices.Sort(names)
	var out []Plugin
	for _, name := range names {
		p, bad := d.Plugin(name)
		err = errors.Join(err, bad)
		if len(p.Versions) > 0 {
			out = append(out, p)
		}
	}
	return out, err
}

// Plugin returns what there is of a plugin.
//
// # Errors
//
// Those of the system.
func (d *Dir) Plugin(name string) (Plugin, error) {
	out := Plugin{Name: name}
	if !ident.Valid(name) {
		return out, nil
	}
	names, err := d.names(path.Join(versionsDir, name))
	if err != nil {
		return out, err
	}
	for _, version := range names {
		v, err := d.version(name, version)
		if err == nil {
			out.Versions = append(out.Versions, v)
		}
	}
	slices.SortFunc(out.Versions, func(a, b Version) int { return b.Put.Compare(a.Put) })
	return out, d.mark(&out)
}

// mark says which version is served: the file that is in place is that of the version, or has its
// digest.
func (d *Dir) mark(p *Plugin) error {
	at := path.Join(pluginsDir, p.Name)
	there, err := d.marked.Root().Lstat(at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return err
	}
	for i, v := range p.Versions {
		info, err := d.marked.Root().Lstat(path.Join(versionsDir, p.Name, v.Version, binaryName))
		if err == nil && os.SameFile(there, info) {
			p.Versions[i].Current = true
			return nil
		}
	}
	sum, err := d.hash(at)
	if err != nil {
		return err
	}
	i := slices.IndexFunc(p.Versions, func(v Version) bool { return v.SHA256 == sum })
	if p.Changed = i < 0; !p.Changed {
		p.Versions[i].Current = true
	}
	return nil
}

func (d *Dir) version(name, version string) (Version, error) {
	at := path.Join(versionsDir, name, version)
	text, err := marked.ReadPrivate(d.marked.Root(), path.Join(at, originName), 64<<10)
	if err != nil {
		return Version{}, err
	}
	var v Version
	if err := json.Unmarshal(text, &v.Origin); err != nil {
		return Version{}, err
	}
	if v.Name != name || v.Version != version {
		return Version{}, marked.ErrDamaged
	}
	info, err := d.marked.Root().Lstat(path.Join(at, originName))
	if err == nil {
		v.Put = info.ModTime()
	}
	return v, err
}

// Signed returns the manifest and the signature of a version.
//
// # Errors
//
// Those of the system and of [pluginpackage.ParseManifest].
func (d *Dir) Signed(v Version) (pluginpackage.Signed, error) {
	at := path.Join(versionsDir, v.Name, v.Version)
	text, err := marked.ReadPrivate(d.marked.Root(), path.Join(at, manifestName), pluginpackage.MaxManifest)
	if err != nil {
		return pluginpackage.Signed{}, fmt.Errorf("the manifest of %s %s: %w", v.Name, v.Version, err)
	}
	out := pluginpackage.Signed{Text: text}
	if out.Manifest, err = pluginpackage.ParseManifest(text); err != nil {
		return out, err
	}
	out.Signature, err = marked.ReadPrivate(d.marked.Root(), path.Join(at, signatureName), pluginpackage.MaxSignature)
	if errors.Is(err, fs.ErrNotExist) {
		out.Signature, err = nil, nil
	}
	return out, err
}

// hash returns the SHA-256 of a file.
func (d *Dir) hash(name string) (string, error) {
	f, err := d.marked.Root().OpenFile(name, os.O_RDONLY|safefile.NoFollow, 0)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", err
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
