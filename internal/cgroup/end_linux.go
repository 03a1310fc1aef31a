package cgroup

import (
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"golang.org/x/sys/unix"
)

// endTime bounds how long the processes of a group may take to end, and again its
// directories to be removed.
const endTime = 2 * time.Second

// maxDepth bounds how deep in groups of its own making a process is looked for.
const maxDepth = 16

// Kill kills the processes of the group, and those of groups that they have made in it, and
// waits until they have ended, for two seconds at most. This process is never killed.
//
// # Errors
//
// A process does not end.
func (g *Group) Kill() error {
	until := time.Now().Add(endTime)
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for stopped := false; ; stopped = true {
		left := 0
		for _, p := range g.parts {
			p.each(until, func(dir string, pid int) {
				left = max(left, pid)
				if stopped {
					kill(dir, pid)
				}
			})
		}
		switch {
		case left == 0:
			return nil
		case time.Now().After(until):
			return fmt.Errorf("process %s in the cgroup %s does not end", describe(left), g.parts[0].dir)
		case stopped:
			<-tick.C
		default:
			for _, p := range g.parts {
				p.stop(g.kernel)
			}
		}
	}
}

// Close kills what is left in the group and removes it.
//
// # Errors
//
// A process does not end, or a directory cannot be removed. What is left is removed by a
// later host, or if Close is called again.
func (g *Group) Close() error {
	if !slices.ContainsFunc(g.parts, func(p part) bool { return g.kernel.rmdir(p.dir) != nil }) {
		return nil // it was empty, as most are
	}
	errs := []error{g.Kill()}
	for _, p := range g.parts {
		errs = append(errs, remove(g.kernel, p.dir, time.Now().Add(endTime)))
	}
	return errors.Join(errs...)
}

// each calls do with the processes of the part other than this one, of which the kernel has
// numbers here.
func (p part) each(until time.Time, do func(dir string, pid int)) {
	below(p.dir, maxDepth, until, func(dir string) {
		all, _ := numbers(dir)
		for _, pid := range all {
			if pid > 0 && pid != os.Getpid() {
				do(dir, pid)
			}
		}
	})
}

// stop kills all processes at once (Linux 5.14) or has them start no others, so that
// they can be killed one by one.
func (p part) stop(k kernel) {
	if p.v2 && k.write(filepath.Join(p.dir, "cgroup.kill"), "1") == nil {
		return
	}
	for name, text := range map[string]string{"cgroup.freeze": "1", "pids.max": "0"} {
		_ = k.write(filepath.Join(p.dir, name), text) // not all parts have them
	}
}

// kill kills a process that is in the group of a directory. Its number may be another's by
// now; if it is in the group while there is a descriptor of it, it is the one.
func kill(dir string, pid int) {
	fd, err := unix.PidfdOpen(pid, 0)
	if err != nil {
		return
	}
	defer func() { _ = unix.Close(fd) }()
	if all, err := numbers(dir); err == nil && slices.Contains(all, pid) {
		_ = unix.PidfdSendSignal(fd, unix.SIGKILL, nil, 0)
	}
}

// below calls do with the directories of the groups in a group, the innermost first, and at
// last with its own. It reads a few at a time: a process may have made very many.
func below(dir string, depth int, until time.Time, do func(dir string)) {
	if depth > 0 {
		inDirs(dir, until, func(name string) { below(filepath.Join(dir, name), depth-1, until, do) })
	}
	do(dir)
}

func inDirs(dir string, until time.Time, do func(name string)) {
	f, err := os.Open(dir)
	if err != nil {
		return
	}
	defer func() { _ = f.Close() }()
	for time.Now().Before(until) {
		entries, err := f.ReadDir(256)
		for _, e := range entries {
			if e.IsDir() {
				do(e.Name())
			}
		}
		if err != nil {
			return
		}
	}
}

// remove removes a group and those in it. The kernel keeps a group for a moment after its
// processes have ended.
func remove(k kernel, dir string, until time.Time) error {
	tick := time.NewTicker(time.Millisecond)
	defer tick.Stop()
	for {
		var err error
		below(dir, maxDepth, until, func(dir string) { err = k.rmdir(dir) })
		if err == nil || errors.Is(err, fs.ErrNotExist) {
			return nil
		}
		if time.Now().After(until) {
			return fmt.Errorf("a group that toolhost made cannot be removed: %w", err)
		}
		<-tick.C
	}
}
