package installed

import (
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"maps"
	"os"
	"path"
	"slices"

	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/marked"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
)

// The files that the host looks for in signedDir.
const (
	manifestName  = "manifest.json"
	signatureName = "manifest.json.minisig"
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
	// Manifest is the digest of its manifest, and Signature that manifest's; nil: it has none.
	Manifest  string `json:"manifest"`
	Signature []byte `json:"signature,omitempty"`
	// Current says that it is the one that is served.
	Current bool `json:"-"`
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
func (p Plugin) Current() (Version, bool) { return p.find(func(v Version) bool { return v.Current }) }

// Find returns a version; false: it is not there.
func (p Plugin) Find(version string) (Version, bool) {
	return p.find(func(v Version) bool { return v.Version == version })
}

func (p Plugin) find(is func(Version) bool) (v Version, ok bool) {
	if i := slices.IndexFunc(p.Versions, is); i >= 0 {
		return p.Versions[i], true
	}
	return v, false
}

// Plugins returns what is installed, sorted by name.
//
// # Errors
//
// Those of [state.File.Read]; those of the system.
func (d *Dir) Plugins() ([]Plugin, error) {
	all, err := d.record.Read()
	var out []Plugin
	for _, name := range slices.Sorted(maps.Keys(all)) {
		p := Plugin{Name: name, Versions: all[name]}
		err = errors.Join(err, d.mark(&p))
		out = append(out, p)
	}
	return out, err
}

// Plugin returns what there is of a plugin.
//
// # Errors
//
// Those of [state.File.Read]; those of the system.
func (d *Dir) Plugin(name string) (Plugin, error) {
	if !ident.Valid(name) {
		return Plugin{Name: name}, nil
	}
	all, err := d.record.Read()
	if err != nil {
		return Plugin{Name: name}, err
	}
	p := Plugin{Name: name, Versions: all[name]}
	return p, d.mark(&p)
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
	i := slices.IndexFunc(p.Versions, func(v Version) bool {
		info, err := d.marked.Root().Lstat(path.Join(contentDir, v.SHA256))
		return err == nil && os.SameFile(there, info)
	})
	if i < 0 {
		sum, err := d.hash(at)
		if err != nil {
			return err
		}
		i = slices.IndexFunc(p.Versions, func(v Version) bool { return v.SHA256 == sum })
	}
	if p.Changed = i < 0; !p.Changed {
		p.Versions[i].Current = true
	}
	return nil
}

// Signed returns the manifest and the signature of a version.
//
// # Errors
//
// Those of the system and of [pluginpackage.ParseManifest].
func (d *Dir) Signed(v Version) (pluginpackage.Signed, error) {
	text, err := marked.ReadPrivate(d.marked.Root(), path.Join(contentDir, v.Manifest), pluginpackage.MaxManifest)
	if err != nil {
		return pluginpackage.Signed{}, fmt.Errorf("the manifest of %s %s: %w", v.Name, v.Version, err)
	}
	out := pluginpackage.Signed{Text: text, Signature: v.Signature}
	out.Manifest, err = pluginpackage.ParseManifest(text)
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
