package pack

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"aead.dev/minisign"

	"github.com/toolhost/toolhost/internal/pluginpackage"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Check returns what is missing or wrong in a project, before anything is run.
//
// # Errors
//
// A plain error for the first thing that is wrong.
func (p Project) Check() error { return p.check() }

// Build builds the package of a project, with what the plugin says of itself.
//
// # Errors
//
// A plain error for what is missing or wrong; those of [pluginpackage.Build].
func (p Project) Build(ctx context.Context, d Description, key *minisign.PrivateKey) (*pluginpackage.Package, error) {
	if err := p.check(); err != nil {
		return nil, err
	}
	in, err := p.input()
	if err != nil {
		return nil, err
	}
	said := strings.TrimPrefix(d.Version, "v")
	switch {
	case p.Name != "" && d.Name != "" && p.Name != d.Name:
		return nil, fmt.Errorf("%s says that the plugin is %s, and the plugin says that it is %s", ProjectFile, p.Name, sanitize.Quote(d.Name, 100))
	case p.Version != "" && said != "" && strings.TrimPrefix(p.Version, "v") != said:
		return nil, fmt.Errorf("the version is to be %s, and the plugin says that it is %s: build it with that version", p.Version, sanitize.Quote(d.Version, 100))
	}
	m := &in.Manifest
	m.Name, m.Version = cmp.Or(p.Name, d.Name), strings.TrimPrefix(cmp.Or(p.Version, said), "v")
	m.Definitions, m.Needs, m.Protocols, m.CreatedBy = d.Tools, d.Needs, d.Protocols, d.SDK
	if in.SBOM, err = p.sboms(ctx, *m); err != nil {
		return nil, err
	}
	if key != nil {
		in.Sign = func(s pluginpackage.Signed) ([]byte, error) { return pluginpackage.Sign(*key, s), nil }
	}
	return pluginpackage.Build(ctx, in)
}

// Write writes a package to a file, in one step.
//
// # Errors
//
// Those of the system and of [pluginpackage.Package.WriteTar]. A file that is there stays as it is.
func Write(ctx context.Context, p *pluginpackage.Package, path string) (err error) {
	f, err := os.CreateTemp(filepath.Dir(path), ".pack-*")
	if err != nil {
		return err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, os.Remove(f.Name()))
		}
	}()
	err = errors.Join(p.WriteTar(ctx, f), f.Chmod(0o644), f.Sync())
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), path); err != nil {
		return err
	}
	return safefile.SyncDir(filepath.Dir(path))
}
