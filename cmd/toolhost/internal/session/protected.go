package session

import (
	"maps"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
)

// Protected returns the files and directories that decide what this command or daemon does,
// whether or not they exist. The host adds those that it knows itself.
func (t *Settings) Protected() []string {
	out := slices.Clone(t.Dirs.Paths)
	add := func(path string, err error) {
		if err == nil && path != "" && path != Off {
			out = append(out, path)
		}
	}
	if path, _, err := t.flags.ConfigPath(); err == nil {
		out = append(out, path)
		if lock, err := pins.OwnLock(t.Config, path); err == nil { // even if it does not count yet
			out = append(out, lock.File)
		}
	}
	if socket, err := t.SocketPath(); err == nil && socket != "" {
		out = append(out, control.Files(socket)...)
	}
	add(t.AuditPath(""), nil)
	add(audit.DefaultPath())
	add(state.Dir())
	add(t.CacheDir(), nil)
	add(t.InstallDir(), nil)
	add(t.UserLock())
	for _, path := range t.flags.MCPConfigs {
		add(filepath.Abs(path))
	}
	if set, err := t.Servers(); err == nil {
		out = append(out, set.Files()...)
	}
	// The files that the configuration takes values from.
	for _, p := range append(slices.Collect(maps.Values(t.Config.Plugins)), t.Config.Defaults) {
		for _, v := range p.Environment {
			add(v.FromFile, nil)
		}
		t.Config.References(p, func(v config.Variable, _ []string) any {
			add(v.FromFile, nil)
			return nil
		})
	}
	return out
}

// protected is Protected without a lock that does not exist and is about to be written.
func (t *Settings) protected(written string) []string {
	return slices.DeleteFunc(t.Protected(), func(path string) bool { return path == written && !paths.Exists(path) })
}

// ProtectedInside returns the protected paths inside a workspace, relative to it.
func ProtectedInside(root string, protected []string) []string {
	root, _, err := protect.Resolve(root)
	if err != nil {
		return nil
	}
	var inside []string
	for _, path := range protected {
		if rel, err := filepath.Rel(root, path); err == nil && protect.Within(root, path) {
			inside = append(inside, sanitize.Text(rel))
		}
	}
	return inside
}
