package sandbox

// Features are the mechanisms of this system, as far as this process may use them. The zero
// value has none of them.
type Features struct {
	// Stage reports whether a process can begin as the stage. Nothing else works without, but Jobs.
	Stage bool
	// Privileged reports whether namespaces can be made without a user namespace.
	Privileged bool
	// User reports whether they can be made in a user namespace.
	User bool
	// Bounded reports whether it can then be bounded how many further namespaces the process makes.
	Bounded bool
	// Mounts reports whether a process can have its own view of the files, and Proc whether that
	// can have its own /proc.
	Mounts, Proc bool
	// Network reports whether it can have its own network.
	Network bool
	// Landlock is the version of the kernel's Landlock ABI; 0: there is none.
	Landlock int
	// Seccomp reports whether system calls can be filtered, and Notify whether the host can be
	// told of those that were refused.
	Seccomp, Notify bool
}

// Namespaces reports whether a process can have namespaces at all.
func (f Features) Namespaces() bool { return f.Stage && (f.Privileged || f.User) }

// What enforces something, for reports.
const (
	byMounts   = "mount namespace"
	byPID      = "PID namespace"
	byNetwork  = "network namespace"
	byLandlock = "Landlock"
	bySeccomp  = "seccomp"
	byCgroup   = "cgroup"
	byRlimit   = "rlimit"
)
