package pluginsource

import (
	"errors"
	"fmt"
	"net/url"
	"os"
	"path/filepath"
	"strings"

	"github.com/opencontainers/go-digest"
	"golang.org/x/mod/semver"
	"oras.land/oras-go/v2/registry"

	"github.com/toolhost/toolhost/internal/address"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Ref says where packages of a plugin are.
type Ref struct {
	// Kind is what has them.
	Kind Kind
	// Place is the REF without tag, plugin and digest: oci://HOST/REPOSITORY, a URL, or an
	// absolute path.
	Place string
	// Tag is a tag of a registry, or the version in an index. Empty: the newest release.
	Tag string
	// Plugin is the plugin of an index. Empty: the only one.
	Plugin string
	// Digest is that of one package. Empty: any that is there.
	Digest digest.Digest
}

// Kind is what has packages.
type Kind string

// The kinds.
const (
	Registry  Kind = "registry"    // an OCI registry
	WebFile   Kind = "web_file"    // one package on a web server
	WebIndex  Kind = "web_index"   // index.json on a web server, see [Index]
	File      Kind = "file"        // one package in a file
	Directory Kind = "local_index" // a directory with index.json
)

// maxRef bounds a REF, in bytes.
const maxRef = 2 << 10

// Parse reads a REF:
//
//	oci://HOST/REPOSITORY[:TAG][@sha256:DIGEST]
//	https://HOST/PATH.tar[@sha256:DIGEST]
//	https://HOST/PATH[/][#PLUGIN[@VERSION]][@sha256:DIGEST], which has an index.json
//	FILE.tar[@sha256:DIGEST], DIRECTORY[#PLUGIN[@VERSION]][@sha256:DIGEST]
//
// Plain http is only for a server on this machine. A path that is relative is made absolute.
//
// # Errors
//
// A plain error that says what was expected.
func Parse(text string) (Ref, error) {
	if text == "" || len(text) > maxRef || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r == 0x7f }) {
		return Ref{}, fmt.Errorf("%s is not a REF: use oci://HOST/REPOSITORY, https://HOST/FILE.tar or a file", sanitize.Quote(text, 100))
	}
	r := Ref{Place: text}
	if place, d, ok := cutLast(text, "@sha256:"); ok {
		r.Place, r.Digest = place, digest.Digest("sha256:"+d)
		if err := r.Digest.Validate(); err != nil {
			return Ref{}, fmt.Errorf("%s: expected sha256: and 64 lower-case hexadecimal digits after @", sanitize.Quote(text, 200))
		}
	}
	scheme, rest, ok := strings.Cut(r.Place, "://")
	switch {
	case !ok:
		return r.local()
	case scheme == "oci":
		return r.registry(rest)
	case scheme == "https" || scheme == "http":
		return r.web()
	}
	return Ref{}, fmt.Errorf("%s: unknown scheme %s: use oci://, https:// or a path", sanitize.Quote(text, 200), sanitize.Quote(scheme, 40))
}

func (r Ref) registry(rest string) (Ref, error) {
	if place, tag, ok := cutLast(rest, ":"); ok && !strings.Contains(tag, "/") {
		rest, r.Tag = place, tag
	}
	ref, err := registry.ParseReference(rest)
	if err == nil && ref.Reference != "" {
		err = errors.New("it has two tags")
	}
	if err == nil && r.Tag != "" {
		ref.Reference = r.Tag
		err = ref.ValidateReferenceAsTag()
	}
	if err != nil {
		return Ref{}, fmt.Errorf("%s: expected oci://HOST/REPOSITORY, then :TAG or @sha256:DIGEST: %w", sanitize.Quote(r.Place, 200), err)
	}
	r.Kind, r.Place = Registry, "oci://"+rest
	return r, nil
}

func (r Ref) web() (Ref, error) {
	u, err := url.Parse(r.Place)
	switch {
	case err != nil || u.Host == "":
		return Ref{}, fmt.Errorf("%s is not a URL", sanitize.Quote(r.Place, 200))
	case u.User != nil:
		return Ref{}, fmt.Errorf("the URL of %s has a user name or password, which the lock would show: use a server that asks for none, or a registry",
			sanitize.Quote(u.Host, 200))
	case u.Scheme == "http" && !address.IsLoopback(u.Hostname()):
		return Ref{}, fmt.Errorf("%s: plain http is only for a server on this machine: use https", sanitize.Quote(r.Place, 200))
	}
	r.Plugin, r.Tag, _ = cutLast(u.Fragment, "@")
	u.Fragment, u.RawFragment = "", ""
	r.Kind = WebIndex
	switch {
	case strings.HasSuffix(u.Path, ".tar"):
		r.Kind = WebFile
	case !strings.HasSuffix(u.Path, "/"+IndexName):
		u.Path = strings.TrimSuffix(u.Path, "/") + "/" + IndexName
	}
	if r.Kind == WebFile && (r.Plugin != "" || r.Tag != "") {
		return Ref{}, fmt.Errorf("%s: a package is of one plugin: leave #%s out", sanitize.Quote(r.Place, 200), sanitize.Line(r.Plugin, 70))
	}
	r.Place = u.String()
	return r, nil
}

func (r Ref) local() (Ref, error) {
	r.Kind = File
	path := strings.TrimPrefix(r.Place, "file:")
	info, err := os.Stat(path)
	if place, plugin, ok := cutLast(path, "#"); err != nil && ok {
		if other, bad := os.Stat(place); bad == nil {
			path, info, err = place, other, nil
			r.Plugin, r.Tag, _ = cutLast(plugin, "@")
		}
	}
	if err != nil {
		return Ref{}, fmt.Errorf("there is no file %s: name a package, or use oci:// or https:// in front: %w", sanitize.Quote(path, 200), err)
	}
	if filepath.Base(path) == IndexName {
		path = filepath.Dir(path)
		info, err = os.Stat(path)
	}
	if err == nil && info.IsDir() {
		r.Kind = Directory
	}
	if err == nil {
		r.Place, err = filepath.Abs(path)
	}
	return r, err
}

// String returns the REF, with everything that it says.
func (r Ref) String() string {
	out := r.Place
	switch {
	case r.Kind == Registry && r.Tag != "":
		out += ":" + r.Tag
	case r.Tag != "":
		out += "#" + r.Plugin + "@" + r.Tag
	case r.Plugin != "":
		out += "#" + r.Plugin
	}
	if r.Digest != "" {
		out += "@" + r.Digest.String()
	}
	return out
}

// Line is the REF without the tag of a version, for the lock: what newer versions are looked for in,
// with the digest of the package that is pinned. Other tags stay, and are followed.
func (r Ref) Line(d digest.Digest, plugin string) string {
	if IsVersion(strings.TrimPrefix(r.Tag, "v")) {
		r.Tag = ""
	}
	if r.Kind == WebIndex || r.Kind == Directory {
		r.Plugin = plugin
	}
	r.Digest = d
	return r.String()
}

// DigestOf is the digest of the package of a REF; empty: it has none.
func DigestOf(ref string) digest.Digest {
	_, d, ok := cutLast(ref, "@sha256:")
	if !ok {
		return ""
	}
	return digest.Digest("sha256:" + d)
}

// Follow is a REF of the lock without the digest: where newer versions are.
func (r Ref) Follow() Ref {
	r.Digest = ""
	return r
}

// IsVersion reports whether s is a semantic version without a leading v, as packages have them.
func IsVersion(s string) bool {
	return strings.Count(s, ".") >= 2 && semver.IsValid("v"+s) && semver.Build("v"+s) == ""
}

// CompareVersions compares two versions by precedence.
func CompareVersions(a, b string) int { return semver.Compare("v"+a, "v"+b) }

func cutLast(s, sep string) (before, after string, found bool) {
	i := strings.LastIndex(s, sep)
	if i < 0 {
		return s, "", false
	}
	return s[:i], s[i+len(sep):], true
}
