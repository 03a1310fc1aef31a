package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"github.com/opencontainers/go-digest"
	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/pluginsource"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newPluginsMirrorCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "mirror DIR [REF]...",
		Short: "Copy packages to a directory, for machines without a network",
		Long: `Copy the packages of all plugins that the lock pins, or of those that are named, to a directory, with
the files of all platforms and an index.json. What is there stays. Serve the directory by any web
server, or carry it: toolhost plugins install --mirror DIR, and toolhost plugins install DIR#NAME.

The files have their digests in their names, and the same packages make the same bytes.`,
		Example: `  toolhost plugins install --download /media/stick/plugins
  toolhost plugins install --download ./mirror oci://registry.example/tools/files:1.2.0`,
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return installing(cmd.Context(), s, installFlags{yes: true}, "toolhost plugins install --download "+args[0], func(i *install) error {
				return i.mirror(cmd.Context(), args[0], args[1:])
			})
		},
	}
}

// mirrored is a package in a mirror.
type mirrored struct {
	Plugin string `json:"plugin"`
	pluginsource.IndexEntry
	// Written says that it was not there before.
	Written bool `json:"written"`
}

func (i *install) mirror(ctx context.Context, dir string, refs []string) error {
	wanted, err := i.toMirror(refs)
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil { //nolint:gosec // for a web server
		return exit.With(exit.BadUsage, err)
	}
	index, err := pluginsource.ReadIndex(dir)
	if err != nil && !errors.Is(err, fs.ErrNotExist) {
		return exit.With(exit.BadUsage, err)
	}
	if index.Plugins == nil {
		index.Plugins = map[string][]pluginsource.IndexEntry{}
	}
	all, failed := []mirrored{}, error(nil)
	for _, ref := range wanted {
		one, err := i.mirrorOne(ctx, dir, ref, index)
		if err != nil {
			failed = errors.Join(failed, err)
			continue
		}
		all = append(all, one)
		entries := slices.DeleteFunc(index.Plugins[one.Plugin], func(e pluginsource.IndexEntry) bool { return e.Digest == one.Digest })
		index.Plugins[one.Plugin] = append(entries, one.IndexEntry)
		if !i.s.Flags.JSON {
			i.s.Out.Text(fmt.Sprintf("%s %s: %s\n", one.Plugin, one.Version, one.File))
		}
	}
	text, err := index.Bytes()
	if err == nil {
		err = safefile.Replace(filepath.Join(dir, pluginsource.IndexName), text, 0o644)
	}
	failed = errors.Join(failed, err)
	if i.s.Flags.JSON {
		return i.s.Out.Report(map[string]any{"dir": dir, "packages": all}, failed)
	}
	return failed
}

// toMirror returns the REFs of the packages that are wanted.
func (i *install) toMirror(refs []string) (out []pluginsource.Ref, err error) {
	for _, text := range refs {
		ref, err := parseRef(text)
		if err != nil {
			return nil, err
		}
		out = append(out, ref)
	}
	if len(refs) > 0 {
		return out, nil
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

// mirrorOne copies a package, unless it is there.
func (i *install) mirrorOne(ctx context.Context, dir string, ref pluginsource.Ref, index pluginsource.Index) (mirrored, error) {
	for name, entries := range index.Plugins {
		for _, e := range entries {
			if e.Digest == ref.Digest && isThere(filepath.Join(dir, e.File), e.Digest) {
				return mirrored{Plugin: name, IndexEntry: e}, nil
			}
		}
	}
	source, err := i.Source(ctx, ref)
	if err != nil {
		return mirrored{}, err
	}
	defer func() { _ = source.Close() }()
	found, err := source.Find(ctx, "")
	if err != nil {
		return mirrored{}, tool.Errorf(tool.CodeUnavailable, "%w", err)
	}
	name := pluginsource.FileName(found.Manifest, found.Digest)
	at := filepath.Join(dir, name)
	out := mirrored{Plugin: found.Manifest.Name, IndexEntry: pluginsource.IndexEntry{Version: found.Manifest.Version, File: name, Digest: found.Digest}}
	if !isThere(at, found.Digest) {
		if err := writePackage(ctx, dir, at, found.Package); err != nil {
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

// isThere reports whether a file is a package with that digest. Its blobs are checked by whoever reads
// them.
func isThere(path string, sum digest.Digest) bool {
	t, err := pluginpackage.OpenTar(path)
	if err != nil {
		return false
	}
	defer func() { _ = t.Close() }()
	return t.Root().Digest == sum
}

// writePackage writes a package file in one step.
func writePackage(ctx context.Context, dir, at string, p *pluginpackage.Package) (err error) {
	f, err := os.CreateTemp(dir, ".mirror-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = p.WriteTar(ctx, f)
	if err == nil {
		err = errors.Join(f.Chmod(0o644), f.Sync())
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	return os.Rename(f.Name(), at)
}
