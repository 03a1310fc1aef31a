package pluginsource

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// IndexName is the name of the file that lists the packages of a directory.
const IndexName = "index.json"

// indexVersion is the version of [Index] that is written and read.
const indexVersion = 1

// maxIndex bounds an index, in bytes.
const maxIndex = 16 << 20

// Index lists packages that are files of the same directory.
type Index struct {
	SchemaVersion int `json:"schema_version"`
	// Plugins has the packages of each plugin.
	Plugins map[string][]IndexEntry `json:"plugins"`
	// Notices are what the publishers of plugins say of versions.
	Notices map[string]pluginpackage.Sealed `json:"notices,omitempty"`
}

// IndexEntry is a package in a file.
type IndexEntry struct {
	Version string `json:"version"`
	// File is its name.
	File string `json:"file"`
	// Digest is the package's, that of its OCI manifest.
	Digest digest.Digest `json:"digest"`
	// Size is the file's, in bytes.
	Size int64 `json:"size"`
}

// FileName is the name of the file of a package in a mirror.
func FileName(m pluginpackage.Manifest, d digest.Digest) string {
	return fmt.Sprintf("%s-%s-%.12s.tar", m.Name, m.Version, d.Encoded())
}

// OpenIndex reads the index of a directory, which need not have one.
//
// # Errors
//
// Those of [ReadIndex].
func OpenIndex(dir string) (Index, error) {
	x, err := ReadIndex(dir)
	if errors.Is(err, fs.ErrNotExist) {
		err = nil
	}
	if x.Plugins == nil {
		x.Plugins = map[string][]IndexEntry{}
	}
	if x.Notices == nil {
		x.Notices = map[string]pluginpackage.Sealed{}
	}
	return x, err
}

// Add adds a package, in place of one with its digest or file name.
func (x Index) Add(plugin string, e IndexEntry) {
	others := slices.DeleteFunc(x.Plugins[plugin], func(o IndexEntry) bool { return o.Digest == e.Digest || o.File == e.File })
	x.Plugins[plugin] = append(others, e)
}

// Write writes the index of a directory, the same for the same packages.
//
// # Errors
//
// Those of the system.
func (x Index) Write(dir string) error {
	x.SchemaVersion = indexVersion
	sorted := map[string][]IndexEntry{}
	for name, all := range x.Plugins {
		sorted[name] = slices.SortedFunc(slices.Values(all), func(a, b IndexEntry) int {
			if c := CompareVersions(a.Version, b.Version); c != 0 {
				return c
			}
			return strings.Compare(string(a.Digest), string(b.Digest))
		})
	}
	x.Plugins = sorted
	text, err := json.MarshalIndent(x, "", "  ")
	if err != nil {
		return err
	}
	return safefile.Replace(filepath.Join(dir, IndexName), append(text, '\n'), 0o644)
}

// ParseIndex reads an index.
//
// # Errors
//
// A plain error for the first thing that is wrong.
func ParseIndex(text []byte) (Index, error) {
	var x Index
	if err := jsontree.Strict(text, &x); err != nil {
		return Index{}, fmt.Errorf("%s is malformed: %w", IndexName, err)
	}
	if x.SchemaVersion != indexVersion {
		return Index{}, fmt.Errorf("%s has the version %d, and this toolhost knows %d", IndexName, x.SchemaVersion, indexVersion)
	}
	for name, all := range x.Plugins {
		for _, e := range all {
			switch {
			case !IsVersion(e.Version) || e.Digest.Validate() != nil || e.Digest.Algorithm() != digest.SHA256:
				return Index{}, fmt.Errorf("%s has a malformed version or digest of %s", IndexName, sanitize.Quote(name, 70))
			case e.File == "" || e.File != filepath.Base(e.File) || strings.ContainsAny(e.File, `/\:`) || strings.HasPrefix(e.File, "."):
				return Index{}, fmt.Errorf("%s names %s, which is not a file of its directory", IndexName, sanitize.Quote(e.File, 100))
			case e.Size < 1 || e.Size > maxTar:
				return Index{}, fmt.Errorf("%s says that %s has %d bytes, expected 1 to %d", IndexName, sanitize.Quote(e.File, 100), e.Size, int64(maxTar))
			}
		}
	}
	return x, nil
}

// shelved is what an index has of a plugin.
type shelved struct {
	all  []Version
	said pluginpackage.Sealed
}

func (s shelved) versions(context.Context) ([]Version, error) { return s.all, nil } //nolint:unparam // as a keeper has it

// of returns what there is of a plugin; of the only one, if none is named.
func (x Index) of(plugin string) (out shelved, err error) {
	names := slices.Sorted(maps.Keys(x.Plugins))
	if plugin == "" && len(names) == 1 {
		plugin = names[0]
	}
	all, ok := x.Plugins[plugin]
	if !ok {
		what := "name one behind #"
		if plugin != "" {
			what = "it has no plugin " + sanitize.Line(plugin, 70)
		}
		return out, fmt.Errorf("the index has the plugins %s: %s", sanitize.Line(strings.Join(names, ", "), 500), what)
	}
	out.said = x.Notices[plugin]
	for _, e := range all {
		out.all = append(out.all, Version{Version: e.Version, Digest: e.Digest, file: e.File, size: e.Size})
	}
	return out, nil
}
