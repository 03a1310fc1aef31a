//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io/fs"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// Rights over files, as Landlock has them (landlock(7)).
const (
	reads = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_READ_DIR
	runs  = unix.LANDLOCK_ACCESS_FS_EXECUTE
	// makes are the rights to make, change and remove what is not a device.
	makes = unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_REMOVE_DIR | unix.LANDLOCK_ACCESS_FS_REMOVE_FILE |
		unix.LANDLOCK_ACCESS_FS_MAKE_DIR | unix.LANDLOCK_ACCESS_FS_MAKE_REG | unix.LANDLOCK_ACCESS_FS_MAKE_SOCK |
		unix.LANDLOCK_ACCESS_FS_MAKE_FIFO | unix.LANDLOCK_ACCESS_FS_MAKE_SYM | unix.LANDLOCK_ACCESS_FS_REFER | unix.LANDLOCK_ACCESS_FS_TRUNCATE
	makesDevices = unix.LANDLOCK_ACCESS_FS_MAKE_CHAR | unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK
	ofFiles      = unix.LANDLOCK_ACCESS_FS_READ_FILE | unix.LANDLOCK_ACCESS_FS_WRITE_FILE | unix.LANDLOCK_ACCESS_FS_EXECUTE |
		unix.LANDLOCK_ACCESS_FS_TRUNCATE | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	tcp    = unix.LANDLOCK_ACCESS_NET_BIND_TCP | unix.LANDLOCK_ACCESS_NET_CONNECT_TCP
	scopes = unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET | unix.LANDLOCK_SCOPE_SIGNAL
)

// known returns the rights that a version of Landlock knows. What is not known is not refused.
func known(abi int, rights uint64) uint64 {
	for right, since := range map[uint64]int{
		unix.LANDLOCK_ACCESS_FS_REFER: 2, unix.LANDLOCK_ACCESS_FS_TRUNCATE: truncates, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV: 5,
	} {
		if abi < since {
			rights &^= right
		}
	}
	return rights
}

// ruleset is what Landlock is to refuse, and what it is to allow all the same.
type ruleset struct {
	files, net, scope uint64
	rules             []rule
}

type rule struct {
	path   string
	rights uint64
}

func (r *ruleset) allow(rights uint64, paths ...string) {
	for _, path := range paths {
		if path != "" { // which would be the working directory
			r.rules = append(r.rules, rule{path: path, rights: rights})
		}
	}
}

// rules returns what Landlock is to enforce.
func (p *Plan) rules() ruleset {
	f, of := p.features, p.Profile
	var r ruleset
	if !of.Exec.Any {
		r.files |= runs
	}
	if !of.Read.Any {
		r.files |= reads
	}
	if !of.Write.Any {
		r.files |= makes | makesDevices | unix.LANDLOCK_ACCESS_FS_IOCTL_DEV
	}
	if f.Landlock >= networked && !of.Net.Any && !p.network {
		r.net = tcp
	}
	if f.Landlock >= scoped {
		r.scope = scopes
	}
	r.allow(reads, system...)
	r.allow(reads, of.Read.List...)
	r.allow(reads|runs, of.Program)
	r.allow(reads, of.Script)
	r.allow(reads|makes, writable(of)...)
	r.allow(reads|unix.LANDLOCK_ACCESS_FS_WRITE_FILE|unix.LANDLOCK_ACCESS_FS_TRUNCATE|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, devices...)
	r.allow(reads, "/proc")                  // others' processes are refused by Landlock itself
	if p.view != sameView && !of.Write.Any { // they are its own
		r.allow(reads|makes, shared, p.temporary())
	}
	r.allow(reads|runs, of.Exec.List...)
	for _, path := range slices.Concat([]string{of.Program}, of.Exec.List) {
		if loader := loaderOf(path); loader != "" {
			r.allow(reads|runs, loader)
		}
	}
	if of.Read.Any {
		r.allow(reads, "/")
	}
	if of.Write.Any {
		r.allow(makes|makesDevices|unix.LANDLOCK_ACCESS_FS_IOCTL_DEV, "/")
	}
	if of.Exec.Any {
		r.allow(runs, "/")
	}
	return r
}

// restrict adds the steps that enforce the rules. A path that does not exist needs none.
func (r ruleset) restrict(p *stage.Program, f Features, at files) {
	const what = "restrict it by Landlock"
	files := known(f.Landlock, r.files)
	size := uintptr(8)
	switch {
	case f.Landlock >= scoped:
		size = 24
	case f.Landlock >= networked:
		size = 16
	}
	p.Call(what, unix.SYS_LANDLOCK_CREATE_RULESET, p.Struct(files, r.net, r.scope), size, 0)
	rules := uintptr(p.Keep())
	merged := map[string]uint64{}
	var order []string
	for _, one := range r.rules {
		path, mode, err := at.follow(one.path, nil)
		if err != nil {
			path, mode = one.path, fs.ModeDir // it may be in the view of the process alone
		}
		rights := one.rights
		if !mode.IsDir() {
			rights &= ofFiles
		}
		if merged[path] == 0 {
			order = append(order, path)
		}
		merged[path] |= rights
	}
	for _, path := range order {
		rights := merged[path] & files
		inOther := func(other string) bool { return other != path && within(other, path) && rights&^merged[other] == 0 }
		if rights == 0 || slices.ContainsFunc(order, inOther) {
			continue
		}
		fd := uintptr(p.Free())
		p.Try(2, unix.SYS_OPENAT, atCWD, p.Text(path), unix.O_PATH|unix.O_CLOEXEC, 0)
		p.Call("allow "+path, unix.SYS_LANDLOCK_ADD_RULE, rules, unix.LANDLOCK_RULE_PATH_BENEATH, p.Struct(rights, int32(fd), int32(0)), 0) //nolint:gosec // small
		p.Call(what, unix.SYS_CLOSE, fd)
	}
	p.Call(what, unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
}
