package cgroup

import (
	"fmt"
	"os"
	"path/filepath"
	"syscall"
)

// A cgroup has one manager, and what it has not handed on is its own, even if the kernel
// lets this user write there: systemd moves processes back, and removes what it does not
// know (https://systemd.io/CGROUP_DELEGATION).

// delegated reports whether a cgroup was handed to this process: it is all that can be seen,
// systemd says so, or it is this user's in one that is another's.
func delegated(at place, k kernel) bool {
	if at.top || k.attribute(at.dir, "user.delegate") == "1" || k.attribute(at.dir, "trusted.delegate") == "1" {
		return true
	}
	own, known := ownerOf(at.dir)
	above, aboveKnown := ownerOf(filepath.Dir(at.dir))
	return known && aboveKnown && handedTo(os.Geteuid(), own, above)
}

// handedTo reports whether the owners of a cgroup and of the one above say that it was
// handed to a user. Of root's they say nothing, nor in the tree of a user's own systemd.
func handedTo(user, own, above int) bool { return user != 0 && own == user && above != user }

func ownerOf(dir string) (uid int, known bool) {
	info, err := os.Stat(dir)
	if err != nil {
		return 0, false
	}
	stat, known := info.Sys().(*syscall.Stat_t)
	if !known {
		return 0, false
	}
	return int(stat.Uid), true
}

// managed returns why this process may not make groups in version 1. If systemd has put it in
// a unit, this says so in its own hierarchy, which is version 2 if there is one.
func (m membership) managed(k kernel) error {
	var not error
	for _, controller := range []string{"", "name=systemd"} {
		at, found, err := m.find(controller)
		if !found || err != nil {
			continue // it is not used, or lies elsewhere
		}
		if delegated(at, k) {
			return nil
		}
		not = notDelegated(at.dir)
	}
	return not
}

func notDelegated(dir string) error {
	return fmt.Errorf("the cgroup %s was not handed to toolhost; with systemd, start it as a service with "+
		"Delegate=yes, or by systemd-run --user --scope -p Delegate=yes", dir)
}
