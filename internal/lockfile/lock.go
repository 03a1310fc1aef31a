// Package lockfile reads and writes toolhost.lock, which pins the plugins and servers that may
// run: the bytes of each binary, the definitions of its tools, and its version. Begin
// with [Read] and [Lock.Check].
//
// # The file
//
// UTF-8 text with one fact on each line, sorted by plugin, so that a diff shows what
// changed, and branches that changed different plugins merge:
//
//	# Made by toolhost plugins lock. ...
//	format 2
//
//	buffer binary linux/amd64 sha256:0f3c...
//	buffer needs linux/amd64 {"write":["workspace"]}
//	buffer definitions sha256:9b1d...
//	buffer version 1.2.0
//
// A line is the plugin's name, the name of a fact and its value, with one space between
// them. Lines that begin with # are comments; empty lines have no meaning. Each plugin has
// one line for its definitions, one for its version, and one for its binary on each
// platform (GOOS/GOARCH). The order of lines does not matter. Digests have 64 lower-case
// hexadecimal digits. What the plugin declares to need is there for each platform too, as
// JSON ([tool.Needs]) or the word undeclared; locks that were written before plugins declared
// anything lack it, and pin none of it. A version that is empty or has characters other than letters, digits
// and ._+- is quoted as in Go.
//
// A server, such as an MCP server, has the digest of its identity (its command line or URL) in
// place of a binary, and one line for each of its tools with the definition as JSON, so that
// what was accepted can be read here, and a refusal can show what has changed:
//
//	files identity sha256:51cc...
//	files definitions sha256:77ab...
//	files tool files.read {"description":"Reads a file.",...}
//	files version 2.1.0
//
// A definition of more than 16 KiB is a digest there.
//
// Of a plugin that toolhost has installed, the lock has the files of all platforms that its package
// has, and where the package is:
//
//	files binary darwin/arm64 sha256:77ab...
//	files binary linux/amd64 sha256:0f3c...
//	files source oci://registry.example/tools/files@sha256:9b1d...
//
// The platform any stands for every one that has no line of its own. A lock with either has
// format 3, others have format 2, so that an older toolhost reads them.
//
// A lock that pins some plugins and lets others run ends in the line "others run": what is cut off
// can only allow less.
//
// A file with a fact or format that is not known here is refused, as it may forbid
// something. Format 1, whose binary lines have no platform and count on every one, is
// still read.
//
// The version is for people. The digests are what counts; a version that differs alone is
// refused too, as one of the digests was made from something else. That of a server does not
// count: its program is not pinned, and may be upgraded without a change of its definitions.
package lockfile

import (
	"cmp"
	"maps"
	"runtime"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/internal/trusted"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MaxSize bounds a file, in bytes: 16 MiB, which are some 60,000 plugins, or the definitions
// of some 10,000 tools of servers.
const MaxSize = 16 << 20

// platform is the platform of this process, as binaries are pinned for it.
const platform = runtime.GOOS + "/" + runtime.GOARCH

// Lock holds the plugins that may run, by name. The zero value pins nothing, so that
// nothing runs.
type Lock struct {
	Plugins map[string]Entry
	// Others lets run what is not pinned: the lock is about the plugins that it names alone.
	Others bool
	// elsewhere is what is pinned for other platforms, by plugin and platform.
	elsewhere map[string]map[string]foreign
}

// foreign is what is pinned of a plugin for another platform.
type foreign struct{ digest, needs string }

// Entry is what is pinned of a plugin.
type Entry struct {
	// SHA256 is the digest of the binary for this platform, in 64 lower-case hexadecimal
	// digits; empty if the plugin is pinned for other platforms only, or is a server.
	SHA256 string `json:"sha256"`
	// Identity is the digest of what a server is; empty: it is a plugin's binary.
	Identity string `json:"identity,omitempty"`
	// Definitions is the digest of its tools' definitions; see [Digest].
	Definitions string `json:"definitions"`
	// Version is what the plugin says of itself; at most 256 bytes.
	Version string `json:"version"`
	// Source is the REF from which the plugin was installed, with the digest of its package:
	// REF@sha256:DIGEST. Empty: it was not installed by toolhost.
	Source string `json:"source,omitempty"`
	// Needs is what the plugin declares to need, see [NeedsText]; empty: it is not pinned, or it
	// is a server.
	Needs string `json:"needs,omitempty"`
	// Tools are the definitions of a server's tools by their names; see [Tools].
	Tools map[string]string `json:"-"`
}

// Names returns the plugins' names, sorted.
func (l *Lock) Names() []string { return slices.Sorted(maps.Keys(l.Plugins)) }

// AnyPlatform stands in a lock for every platform that has no line of its own: the file is a script.
const AnyPlatform = "any"

// Pin pins a plugin's files by platform, in place of what was pinned of it. Needs counts for all of
// them, and the digest and needs in e do not.
func (l *Lock) Pin(name string, e Entry, files map[string]string, needs string) {
	l.Unpin(name)
	for at, digest := range files {
		if at != platform {
			l.addElsewhere(name, at, foreign{digest, needs})
		}
	}
	e.Needs, e.SHA256 = "", cmp.Or(files[platform], files[AnyPlatform])
	if e.SHA256 != "" {
		e.Needs = needs
	}
	if l.Plugins == nil {
		l.Plugins = map[string]Entry{}
	}
	l.Plugins[name] = e
}

// Take pins of a plugin what from pins of it.
func (l *Lock) Take(name string, from *Lock) {
	l.Unpin(name)
	if l.Plugins == nil {
		l.Plugins = map[string]Entry{}
	}
	l.Plugins[name] = from.Plugins[name]
	for at, f := range from.elsewhere[name] {
		l.addElsewhere(name, at, f)
	}
}

// Unpin removes all that is pinned of a plugin.
func (l *Lock) Unpin(name string) {
	delete(l.Plugins, name)
	delete(l.elsewhere, name)
}

// Files returns the digests of a plugin's files by platform.
func (l *Lock) Files(name string) map[string]string {
	out := map[string]string{}
	for at, f := range l.elsewhere[name] {
		out[at] = f.digest
	}
	if sum := l.Plugins[name].SHA256; sum != "" && sum != out[AnyPlatform] {
		out[platform] = sum
	}
	return out
}

// KeepPlatforms pins what before pins for other platforms, for plugins whose definitions and
// version are the same in both. Plugins whose files are the same keep where they came from.
func (l *Lock) KeepPlatforms(before *Lock) {
	for name, e := range l.Plugins {
		was := before.Plugins[name]
		if e.SHA256 != "" && e.SHA256 == was.SHA256 {
			e.Source = was.Source
			l.Plugins[name] = e
		}
		if was.Definitions != e.Definitions || was.Version != e.Version {
			continue
		}
		for at, f := range before.elsewhere[name] {
			l.addElsewhere(name, at, f)
		}
	}
}

// addElsewhere adds what is pinned for another platform to what is known of it.
func (l *Lock) addElsewhere(name, at string, f foreign) {
	if l.elsewhere == nil {
		l.elsewhere = map[string]map[string]foreign{}
	}
	if l.elsewhere[name] == nil {
		l.elsewhere[name] = map[string]foreign{}
	}
	known := l.elsewhere[name][at]
	l.elsewhere[name][at] = foreign{cmp.Or(f.digest, known.digest), cmp.Or(f.needs, known.needs)}
}

// Read reads a file. It is opened and read once; only a regular file is read. A file with
// anything wrong in it pins nothing: it is refused.
//
// # Errors
//
// Those of [Parse] and of [trusted.Read]: a missing file is [fs.ErrNotExist] and has the
// code not_found, a file that others may write permission_denied, a file of more than
// [MaxSize] resource_exhausted, one that cannot be read or parsed unavailable.
func Read(path string) (*Lock, error) {
	l, _, err := ReadSum(path)
	return l, err
}

// ReadSum is [Read] that also returns the digest of the content ([trust.Sum]); empty: it could not be
// read. One that cannot be parsed has a digest too.
func ReadSum(path string) (l *Lock, sha256 string, err error) {
	content, err := trusted.Read(path, MaxSize)
	if err != nil {
		return nil, "", err
	}
	if l, err = Parse(path, content); err != nil { // the host is well, so it is not internal
		err = tool.Errorf(tool.CodeUnavailable, "%w", err)
	}
	return l, trust.Sum(content), err
}

// Write puts the file at path, in one step and with mode 0644, in place of the file that
// may be there: readers, and a power cut, find either the old file or the new one, whole.
//
// # Errors
//
// [*tool.Error] with the code unavailable, or resource_exhausted if the disk is full;
// those of [Lock.Bytes]. The old file is as it was.
func (l *Lock) Write(path string) error {
	content, err := l.Bytes()
	if err != nil {
		return err
	}
	err = safefile.Replace(path, content, 0o644) // not a secret: it goes into version control
	if err == nil {
		return nil
	}
	e := tool.Errorf(tool.CodeUnavailable, "%s cannot be written: %w", path, err).Try("check who owns its directory")
	if safefile.IsFull(err) {
		e.Code, e.Hint = tool.CodeResourceExhausted, "make space there: the disk, or what this user may use of it, is full"
	}
	return e
}

const (
	letters      = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	digestPrefix = "sha256:"
	maxVersion   = 256 // bytes
)

// isDigest reports whether s is a SHA-256 in 64 lower-case hexadecimal digits.
func isDigest(s string) bool { return len(s) == 64 && strings.Trim(s, "0123456789abcdef") == "" }

// isPlatform reports whether s is a platform such as linux/amd64, or any.
func isPlatform(s string) bool {
	if s == AnyPlatform {
		return true
	}
	system, arch, ok := strings.Cut(s, "/")
	return ok && system != "" && arch != "" && len(s) <= 64 && strings.Trim(system+arch, letters) == ""
}

// isPlain reports whether a version needs no quotes.
func isPlain(version string) bool {
	return version != "" && strings.Trim(version, letters+"._+-") == ""
}
