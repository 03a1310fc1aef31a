package cgroup

import (
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Enter has a process that is yet to be started begin in the group, as far as the kernel can do that, and
// returns the files to each of which it then writes "0", while it has a single thread, to be in all of it.
// The caller calls done once the process has been started.
//
// A process that writes to cgroup.procs waits until no other one forks or ends, which the kernel knows by a grace
// period of RCU: some 10 ms on a quiet machine. One that is made in a group of version 2 does not, nor does a
// thread that moves itself in version 1 (cgroup_procs_write_start in kernel/cgroup/cgroup.c, Linux 5.5).
//
// # Errors
//
// The group is gone.
func (g *Group) Enter(attr *syscall.SysProcAttr) (files []string, done func(), err error) {
	done = func() {}
	for _, p := range g.parts {
		switch {
		case !p.v2:
			files = append(files, filepath.Join(p.dir, "tasks"))
		case !beginsInGroup():
			files = append(files, filepath.Join(p.dir, procs))
		default:
			dir, err := os.Open(p.dir)
			if err != nil {
				return nil, nil, err
			}
			attr.UseCgroupFD, attr.CgroupFD = true, int(dir.Fd())
			done = func() { _ = dir.Close() }
		}
	}
	return files, done, nil
}

// cloneArgs is struct clone_args of linux/sched.h, as far as Linux 5.7 knows it.
type cloneArgs [11]uint64

// beginsInGroup reports whether clone3 is there and knows CLONE_INTO_CGROUP: a descriptor that cannot be one is
// refused as that (EINVAL) by a kernel that knows the flag, as too much (E2BIG) by an older one, and as
// unknown by filters of containers.
var beginsInGroup = sync.OnceValue(func() bool {
	args := cloneArgs{0: unix.CLONE_INTO_CGROUP, 10: ^uint64(0)}
	_, _, errno := unix.RawSyscall(unix.SYS_CLONE3, uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args), 0)
	return errno == unix.EINVAL
})
