package doctor

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"slices"
	"strings"
	"syscall"

	"github.com/fsnotify/fsnotify"

	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/state"
)

// Below these a disk is full, or about to be: in bytes, and in files.
const (
	fullBytes = 1 << 20
	lowBytes  = 64 << 20
	fullFiles = 16
)

// checkSpace looks at the disks that toolhost writes to.
func checkSpace(_ context.Context, p *patient) {
	places := map[string]string{"temporary files": temporaryDir()}
	if dir, err := state.Dir(); err == nil {
		places["state"] = dir
	}
	if path, err := auditPath(p.settings); err == nil && path != "" {
		places["the audit log"] = filepath.Dir(path)
	}
	if dir := p.settings.CacheDir(); dir != "" {
		places["the cache"] = dir
	}
	if path, err := p.settings.SocketPath(); err == nil && path != "" {
		places["the socket"] = filepath.Dir(path)
	}
	uses := map[space][]string{}
	var order []space
	for _, use := range []string{"state", "the audit log", "the cache", "temporary files", "the socket"} {
		if dir, ok := places[use]; ok {
			if s, ok := spaceOf(existing(dir)); ok {
				if uses[s] == nil {
					order = append(order, s)
				}
				uses[s] = append(uses[s], use)
			}
		}
	}
	for _, s := range order {
		what := fmt.Sprintf("%d MiB free for %s", s.free>>20, strings.Join(uses[s], ", "))
		hint := "make space on the file system of " + places[uses[s][0]]
		switch {
		case s.free < fullBytes:
			p.failed(what, hint)
		case s.files > 0 && s.filesFree < fullFiles:
			p.failed(fmt.Sprintf("%d files more can be made for %s", s.filesFree, strings.Join(uses[s], ", ")),
				"remove files from the file system of "+places[uses[s][0]])
		case s.free < lowBytes:
			p.warning(what, hint)
		default:
			p.ok(what)
		}
	}
}

// space is what a file system has. Two directories with equal ones are on the same.
type space struct {
	id               string
	free             uint64 // bytes that this user may use
	files, filesFree uint64
}

// Descriptors that a host needs for itself, and for each plugin that runs.
const (
	ownDescriptors    = 48
	pluginDescriptors = 8
)

// checkDescriptors compares the limit with what the plugins here need.
func checkDescriptors(_ context.Context, p *patient) {
	limit, ok := descriptorLimit()
	if !ok {
		return
	}
	plugins := 0
	for _, dir := range p.settings.Dirs.Existing() {
		found, _, _ := pluginrun.Discover(dir)
		plugins += len(found)
	}
	if need := uint64(ownDescriptors + pluginDescriptors*plugins); limit < need { //nolint:gosec // few
		p.failed(fmt.Sprintf("a process may have %d open files, and %s need about %d", limit, count(plugins, "plugin"), need),
			"raise the limit: ulimit -n, or LimitNOFILE= in the daemon's unit")
		return
	}
	p.ok(fmt.Sprintf("a process may have %d", limit))
}

// checkNotices watches the plugin directories, as a daemon does.
func checkNotices(_ context.Context, p *patient) {
	if runtime.GOOS != "linux" {
		p.ok("this system has its own notices of changes")
		return
	}
	const late = "so the daemon notices changes of plugins and the configuration late"
	w, err := fsnotify.NewWatcher()
	if err == nil {
		for _, dir := range p.settings.Dirs.Existing() {
			err = errors.Join(err, w.Add(dir))
		}
		err = errors.Join(err, w.Close())
	}
	switch {
	case err == nil:
		p.ok("changes are noticed at once")
	case errors.Is(err, syscall.EMFILE), errors.Is(err, syscall.ENFILE):
		p.failed(fmt.Sprintf("there are no inotify instances left (%v), %s", err, late),
			"sysctl fs.inotify.max_user_instances=1024, and write it to /etc/sysctl.d")
	case errors.Is(err, syscall.ENOSPC):
		p.failed(fmt.Sprintf("there are no inotify watches left (%v), %s", err, late),
			"sysctl fs.inotify.max_user_watches=524288, and write it to /etc/sysctl.d")
	default:
		p.failed(fmt.Sprintf("directories cannot be watched (%v), %s", err, late), "SIGHUP or toolhost reload makes it look at once")
	}
}

// checkProc looks for /proc, by which a host finds and ends what plugins have started, and
// runs copies in memory.
func checkProc(_ context.Context, p *patient) {
	if runtime.GOOS != "linux" {
		p.ok("this system needs none")
		return
	}
	if _, err := os.Readlink("/proc/self/exe"); err != nil {
		p.failed("/proc is not mounted, or not the one of this PID namespace ("+err.Error()+
			"): plugins may not start, and what they leave is not found", "mount -t proc proc /proc")
	}
}

// checkProtections reports what keeps plugins from doing harm and is not there.
func checkProtections(_ context.Context, p *patient) {
	all := pluginrun.Protections()
	missing := slices.DeleteFunc(slices.Clone(all), func(one pluginrun.Protection) bool { return one.Available })
	for _, one := range missing {
		p.warning(one.Name+": "+one.Detail, protectionHint(one.Name))
	}
	if len(missing) == 0 {
		p.ok(fmt.Sprintf("this system has all %d", len(all)))
	}
}

func protectionHint(name string) string {
	switch {
	case runtime.GOOS != "linux":
		return "docs/isolation.md says what that means; on Linux, toolhost has it"
	case name == "PID namespace":
		return "say namespace: on in the configuration if the kernel lets this user make user namespaces, or leave it: " +
			"docs/isolation.md says what that means"
	}
	return "docs/isolation.md says what that means"
}
