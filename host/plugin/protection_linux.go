package plugin

import (
	"fmt"

	"golang.org/x/sys/unix"
)

func systemProtections() []Protection {
	out := append(unixProtections(),
		Protection{"parent-death signal", true, "the kernel kills a plugin whose host is gone, however it went"})
	switch {
	case !concealed():
		out = append(out, Protection{"concealment", false, "this process did not ask for it; see plugin.Conceal"})
	case privileged():
		out = append(out, Protection{"concealment", true, "plugins cannot read the host's environment and memory; they are started without the rights over other processes and the kernel that this user has (CAP_SYS_ADMIN, CAP_SYS_PTRACE and others)"})
	default:
		out = append(out, Protection{"concealment", true, "other processes of this user cannot read the host's environment and memory"})
	}
	switch err := namespaces(); {
	case err == nil:
		out = append(out, Protection{"PID namespace", true, "the kernel kills all that a plugin started when the plugin or the host ends; a plugin can signal nobody else"})
	case userNamespaces() == nil:
		out = append(out, Protection{"PID namespace", false, fmt.Sprintf("not as this user (%v), but with a user namespace, if PID namespaces are switched on; "+
			"until then descendants that left the process group are found by their environment", err)})
	default:
		out = append(out, Protection{"PID namespace", false, fmt.Sprintf("%v; descendants that left the process group are found by their environment", err)})
	}
	sweep := Protection{"sweep", true, "processes and socket directories of a host that was killed are found by the next one"}
	if err := sweepable(); err != nil {
		sweep.Available, sweep.Detail = false, fmt.Sprintf("%v; descendants that left the process group, and what a killed host left, are not found", err)
	}
	return append(out, sweep)
}

// sweepable is why leftovers cannot be found; nil: they can.
func sweepable() error {
	if _, err := self(); err != nil {
		return err
	}
	me, err := unix.PidfdOpen(unix.Getpid(), 0)
	if err != nil {
		return fmt.Errorf("pidfd_open: %w", err)
	}
	return unix.Close(me)
}
