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
	if path, _, err := t.flags.ConfigPath(); err == nil {
		out = append(out, path)
		if lock, err := pins.OwnLock(t.Config, path); err == nil { // even if it does not count yet
			out = append(out, lock.File)
		}
	}
	if socket, err := t.SocketPath(); err == nil && socket != "" {
		out = append(out, control.Files(socket)...)
	}
	if log := t.AuditPath(""); log != "" && log != Off {
		out = append(out, log)
	}
	if log, err := audit.DefaultPath(); err == nil {
		out = append(out, log)
	}
	if dir, err := state.Dir(); err == nil {
		out = append(out, dir)
	}
	if dir := t.CacheDir(); dir != "" {
		out = append(out, dir)
	}
	if dir := t.InstallDir(); dir != "" {
		out = append(out, dir)
	}
	if lock, err := t.UserLock(); err == nil && lock != "" {
		out = append(out, lock)
	}
	for _, path := range t.flags.MCPConfigs {
		if abs, err := filepath.Abs(path); err == nil {
			out = append(out, abs)
		}
	}
	if set, err := t.Servers(); err == nil {
		out = append(out, set.Files()...)
	}
	// The files that the configuration takes values from.
	for _, p := range append(slices.Collect(maps.Values(t.Config.Plugins)), t.Config.Defaults) {
		for _, v := range p.Environment {
			if v.FromFile != "" {
				out = append(out, v.FromFile)
			}
		}
		t.Config.References(p, func(v config.Variable, _ []string) any {
			if v.FromFile != "" {
				out = append(out, v.FromFile)
			}
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
