package main

import (
	"maps"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/state"
)

// protected are the files and directories that this command, and the daemon, go by,
// whether they are there or not, beside those that the host knows itself.
func (a *app) protected() []string {
	out := slices.Clone(a.namedDirs().dirs)
	if path, _, err := a.configPath(); err == nil {
		out = append(out, path)
	}
	if lock, err := a.ownLock(a.configured()); err == nil { // which need not count yet, see lockCounts
		out = append(out, lock.File)
	}
	if socket, err := a.socketPath(); err == nil && socket != "" {
		out = append(out, control.Files(socket)...)
	}
	if log := chosen("", a.configured().Audit.Path, auditVariable); log != "" && log != noAudit {
		out = append(out, log)
	}
	if log, err := audit.DefaultPath(); err == nil {
		out = append(out, log)
	}
	if dir, err := state.Dir(); err == nil {
		out = append(out, dir)
	}
	if dir := cacheDir(a.configured().CacheDir); dir != "" {
		out = append(out, dir)
	}
	return append(out, referred(a.configured())...)
}

// referred are the files that the configuration takes values from.
func referred(c *config.Config) []string {
	var out []string
	for _, p := range append(slices.Collect(maps.Values(c.Plugins)), c.Defaults) {
		for _, v := range p.Environment {
			if v.FromFile != "" {
				out = append(out, v.FromFile)
			}
		}
	}
	return out
}

// noteProtected says, in one line, what of the workspace tools cannot change.
func (a *app) noteProtected(d *daemon) {
	root, _, err := protect.Resolve(a.root)
	if err != nil {
		return
	}
	var inside []string
	for _, path := range d.host.Protected() {
		if rel, err := filepath.Rel(root, path); err == nil && protect.Within(root, path) {
			inside = append(inside, sanitize.Text(rel))
		}
	}
	if len(inside) > 0 {
		a.notef("protected in the workspace: %s: tools cannot change them, and what changes there waits for toolhost reload", strings.Join(inside, ", "))
	}
}
