package cgroup

import (
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
)

// Tree is where this process can make groups. It is safe for concurrent use.
type Tree struct {
	kernel  kernel
	parents map[Limit]parent

	unified place      // of version 2, to be divided
	inside  bool       // this process is in it, and not in a leaf of it
	mu      sync.Mutex // held while it is divided
}

// parent is where the groups of one limit are made.
type parent struct {
	dir string
	v2  bool
	err error // why none can be made
}

// procs is the file of the processes of a cgroup; leaf is what this process moves itself to
// if its own cgroup of version 2 is to be divided, as one that has parts has no processes.
const (
	procs = "cgroup.procs"
	leaf  = "toolhost-host"
)

// Find says where this process can make groups, and changes nothing.
func Find() *Tree { return FindIn("/") }

// FindIn is [Find] with another root for /proc and for what is mounted.
func FindIn(root string) *Tree { return findIn(root, realKernel{}) }

func findIn(root string, k kernel) *Tree {
	t := &Tree{kernel: k, parents: map[Limit]parent{}}
	m, err := read(root)
	if err == nil {
		_, err = confine.NewName("")
	}
	var unified error // why version 2 is not used
	if err == nil {
		unified = t.findUnified(m)
	}
	for _, limit := range append([]Limit{counting}, All...) {
		p := parent{err: err}
		if err == nil {
			p = t.findParent(m, limit, unified)
		}
		if p.err != nil {
			p.err = fmt.Errorf("%s cannot be bounded: %w", limit, p.err)
		}
		t.parents[limit] = p
	}
	return t
}

// By returns what bounds a limit here, such as "cgroup v2".
//
// # Errors
//
// Nothing does, and why.
func (t *Tree) By(limit Limit) (string, error) {
	p := t.parents[limit]
	switch {
	case p.err != nil:
		return "", p.err
	case p.v2:
		return "cgroup v2", nil
	}
	return "cgroup v1", nil
}

// findParent looks for a controller in version 1 first: one that is in a hierarchy there is
// not in version 2.
func (t *Tree) findParent(m membership, limit Limit, unified error) parent {
	at, found, err := m.find(string(limit))
	switch {
	case err != nil:
		return parent{err: err}
	case found:
		if err := m.managed(t.kernel); err != nil {
			return parent{err: err}
		}
		return parent{dir: at.dir, err: writable(at.dir)}
	case unified != nil:
		return parent{err: unified}
	}
	controllers, err := os.ReadFile(filepath.Join(t.unified.dir, "cgroup.controllers"))
	if err != nil {
		return parent{err: err}
	}
	if !slices.Contains(strings.Fields(string(controllers)), string(limit)) {
		return parent{err: fmt.Errorf("%s was not given the controller %s; with systemd: Delegate=memory pids cpu",
			t.unified.dir, limit)}
	}
	return parent{dir: t.unified.dir, v2: true}
}

// findUnified finds the cgroup of version 2 that can be divided.
//
// # Errors
//
// There is none, or it belongs to others.
func (t *Tree) findUnified(m membership) error {
	at, found, err := m.find("")
	switch {
	case err != nil:
		return err
	case !found:
		return errors.New("this process is in no cgroup with this controller")
	}
	t.unified, t.inside = at, true
	if filepath.Base(at.dir) == leaf && !at.top { // this process or another host has divided it
		t.unified, t.inside = place{dir: filepath.Dir(at.dir)}, false
	}
	if !delegated(t.unified, t.kernel) {
		return notDelegated(t.unified.dir)
	}
	if err := writable(t.unified.dir, "cgroup.subtree_control"); err != nil {
		return err
	}
	return t.alone()
}

// alone returns why the cgroup of version 2 cannot be divided: other processes are in it,
// which are not ours to move.
func (t *Tree) alone() error {
	if !t.inside || t.isRoot() {
		return nil
	}
	all, err := numbers(t.unified.dir)
	if err != nil {
		return err
	}
	for _, pid := range all {
		if pid != os.Getpid() {
			return fmt.Errorf("process %s is in the cgroup %s, too, and toolhost does not move it; "+
				"start toolhost as a service with Delegate=yes, or by "+
				"systemd-run --user --scope -p Delegate=yes", describe(pid), t.unified.dir)
		}
	}
	return nil
}

// isRoot reports whether the cgroup of version 2 is the machine's root, which may have
// processes and parts.
func (t *Tree) isRoot() bool { return !exists(filepath.Join(t.unified.dir, "cgroup.type")) }

// divide makes the controllers of version 2 count in groups that are made: all or none.
//
// # Errors
//
// Other processes are in the cgroup, or the kernel refuses. Then all is as it was.
func (t *Tree) divide() error {
	t.mu.Lock()
	defer t.mu.Unlock()
	control := filepath.Join(t.unified.dir, "cgroup.subtree_control")
	enabled := words(control)
	var order []string
	for _, limit := range slices.Sorted(maps.Keys(t.parents)) {
		if p := t.parents[limit]; p.v2 && p.err == nil && !slices.Contains(enabled, string(limit)) {
			order = append(order, "+"+string(limit))
		}
	}
	if len(order) == 0 {
		return nil
	}
	undo := func() {}
	if t.inside && !t.isRoot() {
		if err := t.alone(); err != nil {
			return err
		}
		own := filepath.Join(t.unified.dir, leaf)
		undo = func() { _ = t.kernel.rmdir(own) }
		if err := t.kernel.mkdir(own); err != nil && !os.IsExist(err) {
			return err
		}
		if err := t.kernel.write(filepath.Join(own, procs), "0"); err != nil {
			undo()
			return err
		}
		remove := undo
		undo = func() {
			_ = t.kernel.write(filepath.Join(t.unified.dir, procs), "0")
			remove()
		}
	}
	if err := t.kernel.write(control, strings.Join(order, " ")); err != nil {
		undo()
		return err
	}
	return nil
}

// writable returns why this user cannot make groups in a directory, with its processes and
// the other files.
func writable(dir string, files ...string) error {
	for _, name := range append([]string{".", procs}, files...) {
		path := filepath.Join(dir, name)
		if err := unix.Faccessat(unix.AT_FDCWD, path, unix.W_OK, unix.AT_EACCESS); err != nil {
			return fmt.Errorf("this user cannot write to %s: %w", path, err)
		}
	}
	return nil
}

// words returns the words of a file; none if it cannot be read.
func words(path string) []string {
	text, _ := os.ReadFile(path)
	return strings.Fields(string(text))
}

// describe names a process for a person.
func describe(pid int) string {
	if pid == 0 {
		return "of another PID namespace"
	}
	name, _ := os.ReadFile(fmt.Sprintf("/proc/%d/comm", pid))
	return fmt.Sprintf("%d (%q)", pid, strings.TrimSpace(string(name)))
}
