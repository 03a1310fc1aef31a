package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"

	"github.com/opencontainers/go-digest"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pack"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// mirrored is a package in a mirror.
type mirrored struct {
	Plugin string `json:"plugin"`
	pluginsource.IndexEntry
	// Written says that it was not there before.
	Written bool `json:"written"`
}

// download copies the packages of all plugins that the lock pins, or of those that are named, to a directory,
// with the files of all platforms and an index. What is there stays.
func (i *install) download(ctx context.Context, dir string, refs []string) error {
	wanted, err := i.toDownload(refs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for a web server
		return exit.With(exit.BadUsage, err)
	}
	index, err := pluginsource.OpenIndex(dir)
	if err != nil {
		return exit.With(exit.BadUsage, err)
	}
	all, failed := []mirrored{}, error(nil)
	for _, ref := range wanted {
		one, err := i.downloadOne(ctx, dir, ref, index)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, one)
		index.Add(one.Plugin, one.IndexEntry)
		if !i.s.Flags.JSON {
			i.s.Out.Text(fmt.Sprintf("%s %s: %s\n", one.Plugin, one.Version, one.File))
		}
	}
	failed = errors.Join(failed, index.Write(dir))
	if i.s.Flags.JSON {
		return i.s.Out.Report(map[string]any{"dir": dir, "packages": all}, failed)
	}
	return failed
}

// toDownload returns the REFs of the packages that are wanted.
func (i *install) toDownload(refs []string) (out []pluginsource.Ref, err error) {
	if len(refs) > 0 {
		return parseRefs(refs)
	}
	lock := i.lock.pinned()
	if lock == nil {
		return nil, exit.Usage("there is no lock that says which packages are wanted: "+sanitize.Text(i.lock.rules.File), "name them")
	}
	for _, name := range lock.Names() {
		if source := lock.Plugins[name].Source; source != "" {
			ref, err := i.pinnedRef(name, source, "")
			if err != nil {
				return nil, err
			}
			out = append(out, ref)
		}
	}
	return out, nil
}

// downloadOne copies a package, unless it is there, and what its publisher says of the plugin's versions.
func (i *install) downloadOne(ctx context.Context, dir string, ref pluginsource.Ref, index pluginsource.Index) (mirrored, error) {
	source, err := i.Source(ctx, ref)
	if err != nil {
		return mirrored{}, err
	}
	defer func() { _ = source.Close() }()
	for name, entries := range index.Plugins {
		for _, e := range entries {
			if e.Digest == ref.Digest && isThere(filepath.Join(dir, e.File), e.Digest) {
				copyNotices(source.Notices, index, name)
				return mirrored{Plugin: name, IndexEntry: e}, nil
			}
		}
	}
	found, err := source.Find(ctx, "")
	if err != nil {
		return mirrored{}, tool.Errorf(tool.CodeUnavailable, "%w", err)
	}
	copyNotices(source.Notices, index, found.Manifest.Name)
	name := pluginsource.FileName(found.Manifest, found.Digest)
	at := filepath.Join(dir, name)
	out := mirrored{Plugin: found.Manifest.Name, IndexEntry: pluginsource.IndexEntry{Version: found.Manifest.Version, File: name, Digest: found.Digest}}
	if !isThere(at, found.Digest) {
		if err := pack.Write(ctx, found.Package, at); err != nil {
			return out, tool.Errorf(tool.CodeUnavailable, "%s cannot be written: %w", at, err)
		}
		out.Written = true
	}
	info, err := os.Stat(at)
	if err == nil {
		out.Size = info.Size()
	}
	return out, err
}

// copyNotices puts what is said of a plugin's versions into an index, unless that has later ones. Whoever installs
// from there checks it.
func copyNotices(now pluginpackage.Sealed, index pluginsource.Index, plugin string) {
	is, _ := now.Parse()
	if was, _ := index.Notices[plugin].Parse(); is.Serial > was.Serial {
		index.Notices[plugin] = now
	}
}

// isThere reports whether a file is a package with that digest, and whole.
func isThere(path string, sum digest.Digest) bool {
	t, err := pluginpackage.OpenTar(path)
	if err != nil {
		return false
	}
	defer func() { _ = t.Close() }()
	return t.Root().Digest == sum
}
