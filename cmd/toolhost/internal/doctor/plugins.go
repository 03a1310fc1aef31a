package doctor

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/safefile"
)

// checkDirectories examines the plugin directories, above all who may write to them.
func checkDirectories(_ context.Context, p *patient) {
	d := p.settings.Dirs
	dirs := d.Watched()
	if len(dirs) == 0 {
		p.warning("there is no plugin directory yet: looked for "+strings.Join(d.Paths, " and "),
			"make one of them and copy plugin binaries into it, or name another with --plugin-dir")
	}
	for _, dir := range dirs {
		found, _, err := pluginrun.Discover(dir)
		if err != nil {
			p.error(err, "")
			continue
		}
		if info, err := os.Stat(dir); err == nil && !safefile.Ours(info) {
			p.warning(dir+" belongs to another user, who decides what runs", "use a directory of your own, or of root")
		}
		if len(found) == 0 && dir == d.Installed {
			continue // nothing was installed yet
		}
		if len(found) == 0 {
			p.warning("there are no plugins in "+dir, "copy plugin binaries into it; toolhost plugins says what it skips")
			continue
		}
		p.ok(fmt.Sprintf("%s has %s", dir, count(len(found), "plugin")))
	}
}

// checkPrograms examines the plugin files: who may write to them, and whether this system can
// run them.
func checkPrograms(_ context.Context, p *patient) {
	for _, dir := range p.settings.Dirs.Watched() {
		found, skipped, err := pluginrun.Discover(dir)
		if err != nil {
			continue // it is a finding of the directory
		}
		for _, s := range skipped {
			if info, err := os.Lstat(s.Path); err == nil && info.Mode().IsRegular() && safefile.OthersMayWrite(info) {
				p.failed(fmt.Sprintf("%s does not run: others may write to it (mode %s)", s.Path, info.Mode().Perm()), "chmod go-w "+s.Path)
			}
		}
		for _, c := range found {
			if info, err := os.Lstat(c.Path); err == nil && !safefile.Ours(info) {
				p.warning(c.Path+" belongs to another user, who can change it", "chown it to this user or root")
			}
			if fault := programFault(c.Path); fault != nil {
				p.add(fault.result, fmt.Sprintf("plugin %s does not run: %s", c.Name, fault.reason), fault.hint)
			}
		}
	}
}

// checkMounts looks for plugin directories whose files the system does not run. A pinned
// plugin runs from a copy.
func checkMounts(_ context.Context, p *patient) {
	rules, err := p.session.LockRules(p.settings)
	pinned := err == nil && len(rules.Locks) > 0
	for _, dir := range p.settings.Dirs.Existing() {
		switch {
		case !mountedNoexec(dir):
		case pinned:
			p.ok(dir + " is mounted noexec, and its plugins run all the same: they are pinned, so copies in memory run")
		default:
			p.failed(dir+" is mounted noexec, so nothing in it runs",
				"move the plugins, mount it with exec, or pin them with toolhost plugins lock: copies in memory run then")
		}
	}
}

// farFuture is how far ahead of the clock a file may be: other machines' clocks differ.
const farFuture = 2 * time.Minute

// checkClock looks for files that the clock says are not written yet.
func checkClock(_ context.Context, p *patient) {
	var files []string
	if exe, err := os.Executable(); err == nil {
		files = append(files, exe)
	}
	if c := p.settings.Config.File; c != "" {
		files = append(files, c, filepath.Join(filepath.Dir(c), "toolhost.lock"))
	}
	for _, dir := range p.settings.Dirs.Existing() {
		if found, _, err := pluginrun.Discover(dir); err == nil {
			for _, c := range found {
				files = append(files, c.Path)
			}
		}
	}
	if log, err := auditPath(p.settings); err == nil {
		files = append(files, log)
	}
	for _, path := range files {
		info, err := os.Stat(path)
		if err != nil {
			continue
		}
		if ahead := info.ModTime().Sub(p.now); ahead > farFuture {
			p.failed(fmt.Sprintf("%s is from the future, by %v: the clock is wrong, or was when the file was written",
				path, ahead.Round(time.Second)), "set the clock, or, if it is right, touch the file")
		}
	}
}
