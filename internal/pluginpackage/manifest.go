package pluginpackage

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/url"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/opencontainers/go-digest"
	"golang.org/x/mod/semver"

	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// SchemaVersion is the version of [Manifest] that is written and read.
const SchemaVersion = 1

// AnyPlatform is the key in [Manifest.Platforms] of a file that runs on every platform: a
// script.
const AnyPlatform = "any"

// Manifest describes a plugin and has the digests of its files. It is what a publisher
// signs. It has no times, so that the same input makes the same bytes.
type Manifest struct {
	// SchemaVersion is [SchemaVersion].
	SchemaVersion int `json:"schema_version"`
	// Name is the plugin's name, and that of its file once it is installed:
	// [A-Za-z0-9][A-Za-z0-9_.-]{0,63}.
	Name string `json:"name"`
	// Version is a semantic version without a leading v and without build metadata, such as
	// 1.2.0 or 2.0.0-rc.1; at most 128 bytes.
	Version string `json:"version"`
	// Description says what the plugin is for, on one line of at most 4 KiB.
	Description string `json:"description"`
	// License is an SPDX licence expression, such as Apache-2.0.
	License string `json:"license"`
	// Source is the https URL of the plugin's source or home. Empty: not said.
	Source string `json:"source,omitempty"`
	// Protocols are the versions of the plugin protocol that it speaks, ascending.
	Protocols []int `json:"protocols"`
	// Platforms has the plugin's file for each platform, such as linux/amd64 (GOOS/GOARCH), or for
	// [AnyPlatform].
	Platforms map[string]Blob `json:"platforms"`
	// Definitions are those of its tools, sorted by name, as the plugin describes them when it
	// runs without configuration.
	Definitions []tool.Definition `json:"definitions"`
	// Needs is what its process needs, as it declares. Nil: it declares nothing.
	Needs *tool.Needs `json:"needs"`
	// SBOM has the software bill of materials of the file for a platform, or for [AnyPlatform].
	SBOM map[string]Blob `json:"sbom,omitempty"`
	// LicenseText is the text of the licence. Nil: the package has none.
	LicenseText *Blob `json:"license_text,omitempty"`
	// CreatedBy is the SDK with which the plugin was made, name and version, such as
	// toolhost-go/0.2.0; at most 256 bytes. Empty: the plugin does not say.
	CreatedBy string `json:"created_by,omitempty"`
}

// Blob is a file of a package.
type Blob struct {
	// MediaType is set for an SBOM: [MediaTypeCycloneDX] or [MediaTypeSPDX].
	MediaType string `json:"media_type,omitempty"`
	// Digest is sha256: and 64 lower-case hexadecimal digits.
	Digest digest.Digest `json:"digest"`
	// Size is in bytes, and above zero.
	Size int64 `json:"size"`
}

// SHA256 is the digest as a lock has it: 64 hexadecimal digits.
func (b Blob) SHA256() string { return b.Digest.Encoded() }

// ParseManifest reads a plugin's manifest and checks it. Members that it does not know, and
// members that occur twice, are refused: they may say something else to another reader. Those of
// definitions are ignored, as when a plugin describes itself.
//
// # Errors
//
// A plain error for the first thing that is wrong.
func ParseManifest(text []byte) (Manifest, error) {
	if len(text) > MaxManifest {
		return Manifest{}, fmt.Errorf("the manifest has %d bytes, more than %d", len(text), MaxManifest)
	}
	var version struct {
		SchemaVersion int `json:"schema_version"`
	}
	if err := json.Unmarshal(text, &version); err != nil {
		return Manifest{}, fmt.Errorf("the manifest is not valid JSON: %w", err)
	}
	if version.SchemaVersion > SchemaVersion {
		return Manifest{}, fmt.Errorf("the manifest has schema version %d, and this toolhost knows %d: upgrade toolhost", version.SchemaVersion, SchemaVersion)
	}
	if err := checkMembers(text); err != nil {
		return Manifest{}, fmt.Errorf("the manifest: %w", err)
	}
	type plain Manifest
	var m struct {
		plain
		Definitions json.RawMessage `json:"definitions"` // in place of the plain ones
	}
	if err := jsontree.Strict(text, &m); err != nil {
		return Manifest{}, fmt.Errorf("the manifest is malformed: %w", err)
	}
	if err := json.Unmarshal(m.Definitions, &m.plain.Definitions); err != nil {
		return Manifest{}, fmt.Errorf("the manifest's definitions are malformed: %w", err)
	}
	out := Manifest(m.plain)
	return out, out.Check()
}

// checkMembers refuses objects in which a name occurs twice: readers differ in which of the two
// counts. Names of the format, which are on the outer levels, may not differ in case only either, as
// Go's reader takes them for the same; those in schemas may.
func checkMembers(text []byte) error {
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	type level struct {
		names map[string]bool // nil: an array
		value bool            // the next token is a member's value
	}
	var open []level
	for {
		token, err := d.Token()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return err
		}
		top := len(open) - 1
		if delim, ok := token.(json.Delim); ok {
			switch delim {
			case '{', '[':
				if top >= 0 {
					open[top].value = false
				}
				if len(open) >= maxDepth {
					return fmt.Errorf("more than %d levels", maxDepth)
				}
				open = append(open, level{})
				if delim == '{' {
					open[len(open)-1].names = map[string]bool{}
				}
			default:
				open = open[:top]
			}
			continue
		}
		if top < 0 || open[top].names == nil {
			continue
		}
		if open[top].value {
			open[top].value = false
			continue
		}
		name, _ := token.(string)
		key := name
		if top < 3 {
			key = strings.ToLower(strings.ToUpper(name))
		}
		if open[top].names[key] {
			return fmt.Errorf("member %s occurs twice", sanitize.Quote(name, 100))
		}
		open[top].names[key], open[top].value = true, true
	}
}

const maxDepth = 128

var platform = lazy.Regexp(`^[a-z0-9]{1,32}/[a-z0-9]{1,32}$`)

// Check returns an error for the first mistake: what a host would refuse of a plugin that
// describes itself in this way, and what could not be shown, or installed.
func (m Manifest) Check() error {
	bad := func(format string, args ...any) error { return fmt.Errorf("the manifest: "+format, args...) }
	switch {
	case m.SchemaVersion != SchemaVersion:
		return bad("schema_version is %d, expected %d", m.SchemaVersion, SchemaVersion)
	case !ident.Valid(m.Name):
		return bad("%s is not a valid plugin name: use letters, digits, _, . and -, at most 64", sanitize.Quote(m.Name, 100))
	case !isVersion(m.Version):
		return bad("%s is not a semantic version such as 1.2.0 or 2.0.0-rc.1 (without v in front and + behind)", sanitize.Quote(m.Version, 100))
	case !isLine(m.Description, maxDescription) || strings.TrimSpace(m.Description) == "":
		return bad("the description is not plain text on one line of at most %d bytes", maxDescription)
	case !ident.Spells(m.License, 256, ".()+: -"):
		return bad("%s is not an SPDX licence expression such as Apache-2.0", sanitize.Quote(m.License, 100))
	case m.Source != "" && !isSource(m.Source):
		return bad("the source %s is not an https URL", sanitize.Quote(m.Source, 100))
	case !isLine(m.CreatedBy, maxCreator):
		return bad("created_by is not plain text on one line of at most %d bytes", maxCreator)
	case len(m.Protocols) == 0 || len(m.Protocols) > 16 || m.Protocols[0] < 1 || !ascending(m.Protocols):
		return bad("the protocols are not 1 to 16 ascending versions")
	}
	if err := m.checkBlobs(); err != nil {
		return bad("%w", err)
	}
	if err := egress.CheckNeeds(m.Needs); err != nil {
		return bad("%w", err)
	}
	if err := checkDefinitions(m.Definitions); err != nil {
		return bad("%w", err)
	}
	return nil
}

// checkBlobs checks platforms, SBOMs and the licence.
func (m Manifest) checkBlobs() error {
	if len(m.Platforms) == 0 || len(m.Platforms) > MaxPlatforms {
		return fmt.Errorf("it has %d platforms, expected 1 to %d", len(m.Platforms), MaxPlatforms)
	}
	check := func(what string, b Blob, limit int64, types ...string) error {
		switch {
		case b.Digest.Validate() != nil || b.Digest.Algorithm() != digest.SHA256:
			return fmt.Errorf("%s has no valid SHA-256 digest", what)
		case b.Size < 1 || b.Size > limit:
			return fmt.Errorf("%s has %d bytes, expected 1 to %d", what, b.Size, limit)
		case !slices.Contains(types, b.MediaType):
			return fmt.Errorf("%s has the media type %s", what, sanitize.Quote(b.MediaType, 100))
		}
		return nil
	}
	for _, p := range m.PlatformNames() {
		if p != AnyPlatform && !platform().MatchString(p) {
			return fmt.Errorf("%s is not a platform such as linux/amd64, or any", sanitize.Quote(p, 100))
		}
		if err := check("the file for "+p, m.Platforms[p], MaxSize, ""); err != nil {
			return err
		}
	}
	for _, p := range slices.Sorted(maps.Keys(m.SBOM)) {
		if _, ok := m.Platforms[p]; !ok {
			return fmt.Errorf("it has an SBOM for %s, but no file", sanitize.Quote(p, 100))
		}
		if err := check("the SBOM for "+p, m.SBOM[p], MaxSBOM, MediaTypeCycloneDX, MediaTypeSPDX); err != nil {
			return err
		}
	}
	if m.LicenseText != nil {
		return check("the text of the licence", *m.LicenseText, MaxLicense, "")
	}
	return nil
}

// checkDefinitions checks the definitions as a host does when a plugin describes itself.
func checkDefinitions(defs []tool.Definition) error {
	if len(defs) > maxTools {
		return fmt.Errorf("it has %d tools, more than %d", len(defs), maxTools)
	}
	budget := schema.NewBudget(schema.ProviderBudget)
	for i, d := range defs {
		if err := d.Check(); err != nil {
			return err
		}
		if i > 0 && defs[i-1].Name >= d.Name {
			return fmt.Errorf("tool %s occurs twice, or the tools are not sorted by name", d.Name)
		}
		if _, err := budget.CompileInput(d.InputSchema); err != nil {
			return fmt.Errorf("the input schema of tool %s: %w", d.Name, err)
		}
		if _, err := budget.CompileOutput(d.OutputSchema); len(d.OutputSchema) > 0 && err != nil {
			return fmt.Errorf("the output schema of tool %s: %w", d.Name, err)
		}
	}
	return nil
}

// PlatformNames returns the platforms, sorted.
func (m Manifest) PlatformNames() []string { return slices.Sorted(maps.Keys(m.Platforms)) }

// Find returns the plugin's file for a platform (GOOS/GOARCH), or the one for any.
//
// # Errors
//
// A plain error that lists the platforms that there are.
func (m Manifest) Find(platform string) (Blob, error) {
	for _, p := range []string{platform, AnyPlatform} {
		if b, ok := m.Platforms[p]; ok {
			return b, nil
		}
	}
	return Blob{}, fmt.Errorf("%s %s has no file for %s, only for %s", m.Name, m.Version, platform, strings.Join(m.PlatformNames(), ", "))
}

// HasBinary reports whether a file with that SHA-256, in hexadecimal digits, is the plugin's for
// any platform.
func (m Manifest) HasBinary(sha256 string) bool {
	for _, b := range m.Platforms {
		if b.SHA256() == sha256 {
			return true
		}
	}
	return false
}

// MaxSafety is the highest level of harm that a tool declares; a tool that declares none counts
// as dangerous.
func (m Manifest) MaxSafety() tool.Safety {
	level := tool.Unset
	for _, d := range m.Definitions {
		level = max(level, d.Safety.Effective())
	}
	return level
}

// Permissions returns the capabilities that the tools ask of callers, sorted.
func (m Manifest) Permissions() []tool.Capability {
	var out []tool.Capability
	for _, d := range m.Definitions {
		if d.Permission != "" {
			out = append(out, d.Permission)
		}
	}
	slices.Sort(out)
	return slices.Compact(out)
}

// isVersion reports whether s is a whole semantic version without build metadata.
func isVersion(s string) bool {
	return len(s) <= maxVersionLength && semver.IsValid("v"+s) && semver.Canonical("v"+s) == "v"+s
}

// isLine reports whether s is plain text on one line.
func isLine(s string, limit int) bool {
	_, hidden := sanitize.Hidden(s)
	return len(s) <= limit && utf8.ValidString(s) && !hidden && !strings.ContainsAny(s, "\n\t")
}

func isSource(s string) bool {
	u, err := url.Parse(s)
	return err == nil && isLine(s, maxSourceLength) && u.Scheme == "https" && u.Host != "" && u.User == nil
}

func ascending(versions []int) bool {
	for i, v := range versions[1:] {
		if v <= versions[i] {
			return false
		}
	}
	return true
}
