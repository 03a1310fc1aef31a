package confine

import "time"

// Namespaces says which namespaces a process gets.
type Namespaces int

const (
	// NoNamespace is none: descendants that leave the process group are found by their mark.
	NoNamespace Namespaces = iota
	// PIDNamespace is a PID namespace, whose processes the kernel ends together with the
	// first. It takes root or CAP_SYS_ADMIN.
	PIDNamespace
	// UserNamespace is a PID namespace in a user namespace that has this user only.
	UserNamespace
)

// Group is what one process started: the processes of its PID namespace or, without one,
// those that have its brand, and those of this user whose environment has its mark.
type Group struct {
	// Mark is a variable of the environment, NAME=value. Empty: the processes are not marked.
	Mark string
	// Brand is that of the processes. 0: they have none.
	Brand Brand
	// Namespace is the PID namespace as /proc/self/ns/pid has it, such as
	// "pid:[4026531836]". Empty, or this process's own: the group has none to itself.
	Namespace string
}

// Brand is the hard limit of file locks (RLIMIT_LOCKS, Linux) that a host gives to the processes of a
// plugin's run. The kernel has counted no such locks since version 2.4, so it bounds nothing. But each
// process inherits it, whatever it runs, whomever it has for a parent and however it clears its
// environment; without CAP_SYS_RESOURCE no process can raise it; and it can be read of a process
// that shows nothing else.
type Brand uint64

// RunVariable is the variable of the mark that a host gives to the processes of a plugin:
//
//	TOOLHOST_RUN=PID.START.NAMESPACE.BOOT/COUNT
//
// This is the host's process number, when the host was started, the PID namespace and the
// boot for which that holds, and a count of the host's starts.
const RunVariable = "TOOLHOST_RUN"

// DirPrefix begins the names of the socket directories of hosts.
const DirPrefix = "toolhost-"

// Usage is what processes use together.
type Usage struct {
	CPU    time.Duration // so far, with what those have used that have ended and were waited for
	Memory int64         // that is resident; what they share counts for each
}

// Swept counts what [Sweep] removed.
type Swept struct {
	Processes   int
	Directories int
}

// endTime bounds how long a group is looked for again, as its processes may go on to start others, and how
// long the end of what was found is waited for.
const endTime = time.Second
