package pluginrun

import "golang.org/x/sys/unix"

// concealed reports whether Conceal was called.
func concealed() bool {
	n, err := unix.PrctlRetInt(unix.PR_GET_DUMPABLE, 0, 0, 0, 0)
	return err == nil && n == 0
}

// kernelRights are root's rights over other processes and over the kernel, which are enough
// to read or change any process whatever its owner and Conceal say. (On recent kernels, seen
// on 6.18, CAP_PERFMON or CAP_SYS_ADMIN is enough to read a process's memory.) Only
// "privileged" containers have them.
var kernelRights = []uintptr{
	unix.CAP_SYS_PTRACE, unix.CAP_SYS_ADMIN, unix.CAP_PERFMON, unix.CAP_BPF, unix.CAP_SYS_MODULE, unix.CAP_SYS_RAWIO, unix.CAP_SYS_BOOT,
}

// dropRights takes the kernelRights from whatever this thread starts: a plugin of root would
// have them all. The thread itself keeps them, to create namespaces, and so do the host's
// others, to find what plugins leave behind.
func dropRights() {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	known := unix.Capget(&header, &held[0]) == nil
	for _, right := range kernelRights {
		_ = unix.Prctl(unix.PR_CAPBSET_DROP, right, 0, 0, 0)
		_ = unix.Prctl(unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_LOWER, right, 0, 0)
		held[right/32].Inheritable &^= 1 << (right % 32)
	}
	if known {
		_ = unix.Capset(&header, &held[0])
	}
}

// privileged reports whether this process has rights that its plugins do not get.
func privileged() bool {
	header := unix.CapUserHeader{Version: unix.LINUX_CAPABILITY_VERSION_3}
	var held [2]unix.CapUserData
	return unix.Capget(&header, &held[0]) == nil && held[0].Effective&(1<<unix.CAP_SYS_PTRACE) != 0
}
