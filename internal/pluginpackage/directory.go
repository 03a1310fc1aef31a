package pluginpackage

import (
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/internal/trusted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The names of a signed manifest in a plugin directory: DIR/.signed/SHA256/manifest.json and
// manifest.json.minisig, by the SHA-256 of the plugin's file in hexadecimal digits. An upgrade puts
// these there first, and then the file in place of the other, in one step.
const (
	SignedDir     = ".signed"
	ManifestFile  = "manifest.json"
	SignatureFile = ManifestFile + ".minisig"
)

// ErrOther reports that a signed manifest is not of the file in whose place it is found.
var ErrOther = errors.New("its signed manifest is of something else")

// ReadSigned reads the signed manifest of a file in a plugin directory, and checks that it is the
// file's. Sha256 is the file's, in hexadecimal digits.
//
// # Errors
//
// [ErrUnsigned] if there is none; [ErrOther] if it is not of that file, or its plugin has another
// name; those of [trusted.Read] and [ParseManifest].
func ReadSigned(dir, plugin, sha256 string) (s Signed, err error) {
	at := filepath.Join(dir, SignedDir, sha256)
	if s.Signature, err = trusted.Read(filepath.Join(at, SignatureFile), MaxSignature); err == nil {
		s.Text, err = trusted.Read(filepath.Join(at, ManifestFile), MaxManifest)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return Signed{}, ErrUnsigned
	}
	if err != nil {
		return Signed{}, err
	}
	if s.Manifest, err = ParseManifest(s.Text); err != nil {
		return Signed{}, fmt.Errorf("%s: %w", filepath.Join(at, ManifestFile), err)
	}
	switch {
	case s.Manifest.Name != plugin:
		return s, fmt.Errorf("%w: it is signed as %s, and named %s here", ErrOther, s.Manifest.Name, plugin)
	case !s.Manifest.HasBinary(sha256):
		return s, fmt.Errorf("%w: the manifest of %s %s has no file with the digest sha256:%s", ErrOther, s.Manifest.Name, s.Manifest.Version, sha256)
	}
	return s, nil
}

// CheckDescription checks what a plugin says of itself when it runs against what was signed: the
// same tools, and no more needs.
//
// # Errors
//
// [ErrOther].
func (m Manifest) CheckDescription(defs []tool.Definition, needs *tool.Needs) error {
	was, err := lockfile.Tools(m.Definitions)
	if err != nil {
		return err
	}
	is, err := lockfile.Tools(defs)
	if err != nil {
		return err
	}
	var differ []string
	for name := range is {
		if was[name] != is[name] {
			differ = append(differ, name)
		}
	}
	for name := range was {
		if _, ok := is[name]; !ok {
			differ = append(differ, name)
		}
	}
	if slices.Sort(differ); len(differ) > 0 {
		const most = 5
		shown := strings.Join(differ[:min(len(differ), most)], ", ")
		if more := len(differ) - most; more > 0 {
			shown += fmt.Sprintf(" and %d more", more)
		}
		return fmt.Errorf("%w: it serves other tools than were signed: %s", ErrOther, shown)
	}
	if more := need.Changes(needs, m.Needs).Larger(); len(more) > 0 {
		return fmt.Errorf("%w: it needs more than was signed: %s", ErrOther, more)
	}
	return nil
}
