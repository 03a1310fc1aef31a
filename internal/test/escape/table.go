package escape

import (
	"cmp"
	"iter"
)

// A Group is attempts of one kind.
type Group struct {
	Title string
	About string
	// Line is the line of a sandbox's report that says whether most of them are possible; empty:
	// plugins have to be able to do them. See [LineOf].
	Line     string
	Attempts []Attempt
	// Limited says that the sandboxes have the limits of which each attempt takes more.
	Limited bool
}

// What attempts to exceed limits take: bytes, processes, descriptors, bytes of one file or of
// all temporary files, timers and user namespaces. Limits below are exceeded.
const (
	TakenMemory      = 256 << 20
	TakenProcesses   = 200
	TakenDescriptors = 300
	TakenDisk        = 8 << 20
	TakenSignals     = 5000
	TakenNamespaces  = 40
)

// Attempts yields all attempts, with their groups.
func Attempts() iter.Seq2[*Group, Attempt] {
	return func(yield func(*Group, Attempt) bool) {
		for i := range Table {
			for _, a := range Table[i].Attempts {
				if !yield(&Table[i], a) {
					return
				}
			}
		}
	}
}

// Profiles that often come together.
const (
	none     = NoSandbox
	asUser   = NoSandbox | Undeclared // whatever the host's user may do
	everyone = NoSandbox<<1 - 1
	reading  = asUser | WorkspaceRead | WorkspaceWrite
	writing  = asUser | WorkspaceWrite
	network  = asUser | NetAny
	programs = asUser | ExecAny
)

// declared are the profiles of plugins that declare what they need.
const declared = everyone &^ asUser

// What ends differently, and why.
var (
	noLoopback   = []Exception{{Bare, declared &^ NetAny, "Without a network namespace there is no loopback of its own."}}
	noProxy      = []Exception{{Bare, NetList, "Without a network namespace the host's proxy cannot be the only way out: there is none."}}
	notHidden    = []Exception{{Bare, declared, "Landlock does not hide names, sizes, times and attributes of files, and where links lead."}}
	attributes   = []Exception{{Bare, WorkspaceWrite, "Landlock ignores modes, owners, times and attributes; plugins that write nothing cannot change them."}}
	noMounts     = []Exception{{Bare, Undeclared | WorkspaceWrite, "Without mounts nothing in a tree that can be written is protected."}}
	acrossMounts = []Exception{{Namespaces, Undeclared, "The directories above a protected path are mounts, across which nothing is renamed or linked: programs copy then."}}
	notThere     = []Exception{{"", Undeclared | WorkspaceWrite, "What does not exist cannot be protected in a tree that can be written."}}
	noIPC        = []Exception{{Bare, Undeclared, "Without an IPC namespace it shares what its user's processes share."}}
	notApart     = []Exception{{Bare, declared, "Without a PID namespace, /proc lists the machine's processes, though nothing in them."}}
	noFilter     = []Exception{{Bare, Undeclared, "Without a PID namespace only a filter of system calls refuses that, and undeclared plugins have a smaller one."}}
	machineProc  = []Exception{{"", Undeclared, "It sees the machine's /proc."}}

	machineSockets = []Exception{{Bare, declared &^ NetAny, "Without a network namespace, /proc shows the machine's."}}
	ownLoader      = []Exception{{"", ExecList, "The loader of a program on the list runs whatever can be read."}}
	noConnect      = []Exception{noPaths[1], {Bare, WorkspaceRead | WorkspaceWrite, "Without mounts sockets cannot be told apart, and nothing is connected."}}
	noPaths        = []Exception{{Bare, Undeclared, "Landlock does not look at Unix sockets before its version 9."}, {Bare, NetAny, "Landlock does not look at Unix sockets before its version 9."}}
	tmpOfUser      = []Exception{{"", Undeclared, "It has the temporary files of its user."}, {Bare, declared, "Without mounts the limit is one of each file."}}
	noGroup        = []Exception{{Ungrouped, declared | Undeclared, "It takes a control group that the host may make."}}
	ownGroup       = []Exception{{Bare, declared, "Without a PID namespace a group can have processes of others."}}
	kernelTables   = []Exception{{Bare, declared | Undeclared, "Without mounts nothing hides the kernel's own files in /proc."}}
	noUsers        = []Exception{{Bare, Undeclared, uncounted}, {AsRoot, Undeclared, uncounted}}
	noView         = []Exception{{Bare, Undeclared, "Without mounts it sees the machine's devices and settings."}}
)

const uncounted = "Without a user namespace of its own, those that it made would count as its user's."

// Table is what a sandbox lets a plugin do, and what not.
var Table = []Group{
	{"What plugins have to be able to do", "", "", []Attempt{
		{"workspace-read", "Reads a file of the workspace.", Reads, reading, AnyUser, nil},
		{"workspace-list", "Lists the workspace.", Says, reading, AnyUser, nil},
		{"workspace-write", "Writes a file of the workspace.", Changes, writing, AnyUser, nil},
		{"workspace-change", "Makes, renames, links, changes and removes files and directories in the workspace.", Says, writing, AnyUser, nil},
		{"system-files", "Reads a file of the system that programs need, such as the loader's cache.", Says, everyone, AnyUser, nil},
		{"certificates", "Reads the certificates of the system.", Says, everyone, AnyUser, nil},
		{"own-tmp", "Writes and reads a file in its directory for temporary files.", Says, everyone, AnyUser, nil},
		{"devices", "Writes to /dev/null and reads /dev/urandom.", Says, everyone, AnyUser, nil},
		{"proc-self", "Reads what /proc says about itself.", Says, everyone, AnyUser, nil},
		{"threads", "Starts threads.", Says, everyone, AnyUser, nil},
		{"fork", "Forks.", Says, everyone, AnyUser, nil},
		{"signal-child", "Ends a process that it has forked.", Says, everyone, AnyUser, nil},
		{"loopback", "Listens on loopback and connects to that.", Says, everyone, AnyUser, noLoopback},
		{"unix-own", "Listens on a Unix socket of its own and connects to that.", Says, everyone, AnyUser, noLoopback},
		{"unix-pair", "Makes a pair of connected stream sockets.", Says, everyone, AnyUser, nil},
		{"high-descriptor", "Has a descriptor with a high number.", Says, everyone, AnyUser, nil},
		{"own-code", "Runs machine code that it has put into its memory.", Says, everyone, AnyUser, nil},
		{"own-terminal", "Opens a terminal of its own.", Says, asUser, AnyUser, nil},
		{"own-seccomp", "Confines a child by a filter of system calls.", Says, everyone, AnyUser, nil},
		{"own-landlock", "Confines a child by Landlock.", Says, everyone, AnyUser, nil},
	}, false},
	{"Reading files outside of the workspace", "The file is one that the host's user may read.", "read", []Attempt{
		{"read-path", "Opens the file by its absolute path.", Reads, asUser, AnyUser, nil},
		{"read-dots", "Opens it by a path with `..` from the workspace.", Reads, asUser, AnyUser, nil},
		{"read-link", "Opens a symbolic link in the workspace that leads to it.", Reads, asUser, AnyUser, nil},
		{"read-door", "Opens it through a symbolic link to its directory.", Reads, asUser, AnyUser, nil},
		{"read-race", "Exchanges a directory for a link to the outside, again and again, while it opens a path through it.", Reads, asUser, AnyUser, nil},
		{"read-hardlink", "Makes a hard link to it and opens that.", Reads, asUser, AnyUser, nil},
		{"read-opath", "Opens it as a path (O_PATH), and that descriptor for reading.", Reads, asUser, AnyUser, nil},
		{"read-openat2", "Opens it by openat2.", Reads, asUser, AnyUser, nil},
		{"read-root", "Opens it through /proc/self/root.", Reads, asUser, AnyUser, nil},
		{"read-thread", "Opens it through /proc/thread-self/cwd.", Reads, asUser, AnyUser, nil},
		{"read-first", "Opens it through the root of process 1.", Reads, 0, Luck, nil},
		{"read-neighbour-root", "Opens it through another plugin's root in /proc.", Reads, none, AnyUser, nil},
		{"read-neighbour-cwd", "Opens it through another plugin's working directory in /proc.", Reads, none, AnyUser, nil},
		{"read-neighbour-file", "Opens a file without a name that another plugin has open.", Reads, none, AnyUser, nil},
		{"read-host-root", "Opens it through the host's root in /proc.", Reads, none, Equal, nil},
		{"read-host-file", "Opens a file without a name that the host has open.", Reads, none, Equal, nil},
		{"read-handle", "Opens it by its number in the file system (open_by_handle_at).", Reads, none, Root, nil},
		{"read-inherited", "Looks for a descriptor that was left open when its program began.", Reads, 0, AnyUser, nil},
		{"read-sealed", "Reads a file that its mode lets no one read, as root may.", Reads, asUser, Root, nil},
		{"read-tmp", "Reads a file that another process has in /tmp.", Reads, asUser, AnyUser, nil},
		{"read-shm", "Reads a file that another process has in /dev/shm.", Reads, asUser, AnyUser, nil},
		{"list-outside", "Lists its directory.", Says, asUser, AnyUser, nil},
		{"stat-outside", "Asks for its size and times.", Says, asUser, AnyUser, notHidden},
		{"attributes-outside", "Asks for an extended attribute of it.", Says, asUser, AnyUser, notHidden},
		{"link-outside", "Asks where it leads, if it is a link.", Says, asUser, AnyUser, notHidden},
		{"watch-outside", "Watches its directory (inotify).", Says, asUser, AnyUser, notHidden},
	}, false},
	{"Changing files outside of the workspace", "The file is one that the host's user may write.", "write", []Attempt{
		{"outside-write", "Writes to the file.", Changes, asUser, AnyUser, nil},
		{"outside-mmap", "Changes it through shared memory.", Changes, asUser, AnyUser, nil},
		{"outside-truncate", "Truncates it by its path.", Changes, asUser, AnyUser, nil},
		{"outside-create", "Makes a file next to it.", Changes, asUser, AnyUser, nil},
		{"outside-tmpfile", "Makes a file without a name there, and gives it one.", Changes, asUser, AnyUser, nil},
		{"outside-mkdir", "Makes a directory next to it.", Changes, asUser, AnyUser, nil},
		{"outside-fifo", "Makes a FIFO next to it.", Changes, asUser, AnyUser, nil},
		{"outside-symlink", "Makes a symbolic link next to it.", Changes, asUser, AnyUser, nil},
		{"outside-link", "Puts a hard link to a file of the workspace next to it.", Changes, asUser, AnyUser, acrossMounts},
		{"outside-rename-over", "Renames a file of the workspace over it.", Changes, asUser, AnyUser, acrossMounts},
		{"outside-rename-away", "Renames it into the workspace.", Changes, asUser, AnyUser, acrossMounts},
		{"outside-exchange", "Exchanges it and a file of the workspace.", Changes, asUser, AnyUser, acrossMounts},
		{"outside-unlink", "Removes it.", Changes, asUser, AnyUser, nil},
		{"outside-chmod", "Changes its mode.", Changes, asUser, AnyUser, attributes},
		{"outside-chown", "Sets its owner, to the same.", Changes, asUser, AnyUser, attributes},
		{"outside-xattr", "Sets an extended attribute.", Changes, asUser, AnyUser, attributes},
		{"outside-utimes", "Sets its times.", Changes, asUser, AnyUser, attributes},
		{"outside-flags", "Sets a flag of the file system through a descriptor for reading.", Changes, asUser, AnyUser, nil},
		{"workspace-version", "Sets the generation of a file in the workspace by a descriptor for reading (FS_IOC_SETVERSION).", Changes, writing, Luck, nil},
		{"tmp-write", "Makes a file where another process has its own in /tmp.", Changes, asUser, AnyUser, nil},
		{"shm-write", "Makes a file where another process has its own in /dev/shm.", Changes, asUser, AnyUser, nil},
	}, false},
	{"Changing protected paths in the workspace", "The host protects its configuration, lock, plugin directories, audit log, cache and state, wherever they are.", "protected", []Attempt{
		{"protected-write", "Writes to a protected file.", Changes, none, AnyUser, noMounts},
		{"protected-mmap", "Changes it through shared memory.", Changes, none, AnyUser, noMounts},
		{"protected-truncate", "Truncates it by its path.", Changes, none, AnyUser, noMounts},
		{"protected-create", "Makes a file in a protected directory.", Changes, none, AnyUser, noMounts},
		{"protected-missing", "Makes a protected file that is not there.", Changes, none, AnyUser, notThere},
		{"protected-rename-over", "Renames another file over it.", Changes, none, AnyUser, noMounts},
		{"protected-rename-away", "Renames it.", Changes, none, AnyUser, noMounts},
		{"protected-parent", "Renames the directory that it is in, to put another in its place.", Changes, none, AnyUser, noMounts},
		{"protected-exchange", "Exchanges it and another file.", Changes, none, AnyUser, noMounts},
		{"protected-unlink", "Removes it.", Changes, none, AnyUser, noMounts},
		{"protected-chmod", "Changes its mode.", Changes, none, AnyUser, noMounts},
		{"protected-chown", "Sets its owner, to the same.", Changes, none, AnyUser, noMounts},
		{"protected-xattr", "Sets an extended attribute.", Changes, none, AnyUser, noMounts},
		{"protected-utimes", "Sets its times.", Changes, none, AnyUser, noMounts},
		{"protected-flags", "Sets a flag of the file system through a descriptor for reading.", Changes, none, AnyUser, noMounts},
		{"protected-handle", "Opens it for writing by its number in the file system.", Changes, none, Root, nil},
		{"protected-through-link", "Writes to it through a symbolic link.", Changes, none, AnyUser, noMounts},
		{"protected-through-hard-link", "Makes a hard link to it, and writes to that.", Changes, none, AnyUser, noMounts},
	}, false},
	{"Devices, terminals and memory that processes share", "", "processes", []Attempt{
		{"terminal-write", "Writes to a terminal of its user by the name of the device.", Arrives, none, AnyUser, noView},
		{"terminal-type", "Types on the terminal of another session (TIOCSTI).", Says, 0, Rights, nil},
		{"terminal-type-own", "Types on a terminal of its own.", Says, none, Luck, nil},
		{"console", "Opens the machine's console, or a terminal of its screen.", Says, none, Luck, noView},
		{"segment", "Attaches a System V shared memory segment of its user.", Reads, none, AnyUser, noIPC},
		{"queue", "Receives a message from a POSIX message queue of its user.", Reads, none, AnyUser, noIPC},
		{"keyring-user", "Reads a key in the keyring of its user.", Reads, none, AnyUser, nil},
		{"disk", "Opens the device of a disk.", Says, none, Luck, noView},
		{"kernel-files", "Reads what the kernel tells of itself in /proc (slabinfo).", Says, none, Root, kernelTables},
		{"make-device", "Makes a device and opens it.", Says, none, Root, nil},
		{"proc-sys", "Opens a setting of the kernel in /proc/sys for writing.", Says, none, Root, noView},
		{"sys", "Opens a setting of the kernel in /sys for writing.", Says, none, Root, noView},
	}, false},
	{"Other processes", "A neighbour is another plugin's process, of the same user.", "processes", []Attempt{
		{"processes-list", "Finds a neighbour in /proc.", Says, asUser, AnyUser, notApart},
		{"arguments", "Reads a neighbour's arguments.", Says, asUser, AnyUser, notApart},
		{"environment", "Reads a neighbour's environment.", Reads, none, AnyUser, nil},
		{"host-environment", "Reads the host's environment.", Says, none, Equal, nil},
		{"maps", "Reads where a neighbour's memory is.", Says, none, AnyUser, nil},
		{"memory", "Reads a neighbour's memory through /proc.", Reads, none, AnyUser, nil},
		{"host-memory", "Reads the host's memory through /proc.", Reads, none, Equal, nil},
		{"memory-write", "Writes a neighbour's memory through /proc.", Changes, none, AnyUser, nil},
		{"vm-read", "Reads a neighbour's memory by process_vm_readv.", Reads, none, AnyUser, nil},
		{"vm-write", "Writes a neighbour's memory by process_vm_writev.", Changes, none, AnyUser, nil},
		{"ptrace-attach", "Traces a neighbour (PTRACE_ATTACH).", Says, none, AnyUser, nil},
		{"ptrace-seize", "Traces a neighbour (PTRACE_SEIZE).", Says, none, AnyUser, nil},
		{"ptrace-me", "Lets a child be traced (PTRACE_TRACEME).", Says, asUser, AnyUser, nil},
		{"take-file", "Takes a neighbour's open file (pidfd_getfd).", Reads, none, AnyUser, nil},
		{"host-take-file", "Takes the host's open file (pidfd_getfd).", Reads, none, Equal, nil},
		{"kcmp", "Compares itself with a neighbour (kcmp).", Says, none, AnyUser, nil},
		{"perf-neighbour", "Measures a neighbour (perf_event_open).", Says, none, AnyUser, nil},
		{"priority", "Changes a neighbour's priority.", Says, none, AnyUser, noFilter},
		{"io-priority", "Changes a neighbour's priority for disks.", Says, none, AnyUser, noFilter},
		{"priority-group", "Changes the priority of a process group.", Says, everyone, AnyUser, ownGroup},
		{"io-priority-group", "Changes that for disks.", Says, everyone, AnyUser, ownGroup},
		{"scheduler", "Changes a neighbour's scheduling class.", Says, none, AnyUser, noFilter},
		{"affinity", "Sets a neighbour's processors.", Says, none, AnyUser, noFilter},
		{"limits", "Changes a neighbour's resource limits.", Says, none, AnyUser, noFilter},
		{"oom-score", "Makes the kernel end a neighbour first when memory is short.", Says, none, AnyUser, machineProc},
		{"settings", "Writes one of a neighbour's settings in /proc (coredump_filter).", Says, none, AnyUser, machineProc},
		{"kill", "Signals a neighbour.", Signals, none, AnyUser, nil},
		{"kill-thread", "Signals a thread of a neighbour (tgkill).", Signals, none, AnyUser, nil},
		{"kill-group", "Signals a neighbour's process group.", Signals, none, AnyUser, nil},
		{"kill-queue", "Sends a neighbour a signal with a value (rt_sigqueueinfo).", Signals, none, AnyUser, nil},
		{"kill-pidfd", "Signals a neighbour by a descriptor of it.", Signals, none, AnyUser, nil},
		{"kill-owner", "Has the kernel signal a neighbour when a pipe can be read (F_SETOWN).", Signals, none, AnyUser, nil},
		{"kill-host", "Asks whether it could signal the host.", Says, none, AnyUser, nil},
	}, false},
	{"Network", "Listeners on the host's loopback stand for other machines.", "net", []Attempt{
		{"tcp", "Connects to a server over IPv4.", Arrives, network, AnyUser, nil},
		{"tcp-listed", "Connects to the one that is on its list, at localhost, as a client that knows no proxy.", Arrives, network | NetList, AnyUser, noProxy},
		{"tcp6", "Connects to a server over IPv6.", Arrives, network, AnyUser, nil},
		{"tcp-metadata", "Connects to where a cloud has its metadata.", Arrives, network, AnyUser, nil},
		{"tcp-fastopen", "Sends data with the first packet, without connect(2).", Arrives, network, AnyUser, nil},
		{"mptcp", "Connects by Multipath TCP.", Arrives, asUser, AnyUser, nil},
		{"sctp", "Connects by SCTP.", Arrives, asUser, AnyUser, nil},
		{"udp", "Sends a datagram, without connect(2).", Arrives, network, AnyUser, nil},
		{"udp-connected", "Sends a datagram on a connected socket.", Arrives, network, AnyUser, nil},
		{"udplite", "Sends a datagram by UDP-Lite.", Arrives, asUser, AnyUser, nil},
		{"dns", "Asks a name server for a name that has data in it.", Arrives, network, AnyUser, nil},
		{"tcp-listen", "Listens at a port at which others reach it.", Says, network, AnyUser, nil},
		{"proxy-listed", "Connects to the server on its list through the host's proxy.", Arrives, NetList, Proxy, noProxy},
		{"proxy-unlisted", "Asks the proxy for a server that is not on its list.", Arrives, 0, Proxy, nil},
		{"proxy-metadata", "Asks the proxy for where a cloud has its metadata.", Arrives, 0, Proxy, nil},
		{"sockets-list", "Reads in /proc which ports the machine listens at.", Says, network, AnyUser, machineSockets},
		{"sockets-netlink", "Asks the kernel for them (sock_diag).", Says, asUser, AnyUser, nil},
		{"raw", "Opens a raw socket.", Says, none, Root, nil},
		{"packet", "Opens a packet socket, which sees what others send.", Says, none, Root, nil},
		{"netlink-audit", "Opens a socket to the kernel's audit.", Says, asUser, AnyUser, nil},
		{"netlink-netfilter", "Opens a socket to the kernel's firewall.", Says, asUser, AnyUser, nil},
		{"network-settings", "Changes an interface of the machine's network.", Says, none, Root, nil},
		{"vsock", "Opens a socket to the machine's hypervisor.", Says, asUser, AnyUser, nil},
		{"crypto", "Opens a socket to the kernel's cryptography (AF_ALG).", Says, asUser, AnyUser, nil},
		{"other-families", "Opens a socket of a family that programs hardly use.", Says, none, Luck, nil},
		{"uring-connect", "Connects to a server by io_uring.", Arrives, asUser, AnyUser, nil},
		{"uring-open", "Opens the file outside of the workspace by io_uring.", Reads, asUser, AnyUser, nil},
	}, false},
	{"Unix sockets", "", "processes", []Attempt{
		{"unix-daemon", "Connects to the daemon's socket.", Arrives, none, AnyUser, noPaths},
		{"unix-foreign", "Connects to a socket of another process of its user.", Arrives, asUser, AnyUser, noPaths[1:]},
		{"unix-inside", "Connects to one in the workspace.", Arrives, reading, AnyUser, noConnect},
		{"unix-abstract", "Connects to an abstract socket.", Arrives, none, AnyUser, nil},
		{"unix-proc", "Connects to the daemon's socket through another plugin's root in /proc.", Arrives, none, AnyUser, nil},
		{"unix-datagram", "Sends a datagram to a socket of the daemon, without connect(2).", Arrives, none, AnyUser, noPaths},
		{"unix-pair-datagram", "Sends one from a pair of connected sockets.", Arrives, none, AnyUser, noPaths},
	}, false},
	{"Programs", "Each prints something, so that the attempt is done only if it ran.", "exec", []Attempt{
		{"exec-listed", "Runs a program on its list.", Runs, programs | ExecList, AnyUser, nil},
		{"exec-unlisted", "Runs another one.", Runs, programs, AnyUser, nil},
		{"exec-shell", "Runs a command in a shell.", Runs, programs, AnyUser, nil},
		{"exec-spawn", "Runs a program as most libraries do (vfork).", Runs, programs, AnyUser, nil},
		{"exec-descriptor", "Runs a program by a descriptor (execveat).", Runs, programs, AnyUser, nil},
		{"exec-memory", "Runs a program that is only in memory (memfd_create).", Runs, programs, AnyUser, nil},
		{"exec-script", "Runs a script that it has written.", Runs, programs, AnyUser, nil},
		{"exec-loader", "Has the dynamic loader run a program.", Runs, programs, AnyUser, ownLoader},
		{"exec-itself", "Runs its own program again.", Runs, programs | ExecList, AnyUser, nil},
		{"exec-copy", "Copies a program to its directory for temporary files, under the name of one on its list, and runs it.", Runs, programs, AnyUser, nil},
		{"exec-workspace", "Runs a program in the workspace.", Runs, asUser, AnyUser, nil},
		{"exec-over-listed", "Opens the program on its list for writing.", Says, asUser, Root, nil},
		{"exec-setuid", "Runs a program that has another user's rights (setuid).", Runs, none, AnyUser, nil},
	}, false},
	{"Namespaces and mounts", "", "kernel", []Attempt{
		{"unshare-user", "Makes a user namespace, in which it has all rights.", Says, asUser, AnyUser, noUsers},
		{"clone-user", "Makes one by clone.", Says, asUser, AnyUser, noUsers},
		{"clone3-user", "Makes one by clone3.", Says, asUser, AnyUser, noUsers},
		{"namespaces-many", "Makes 40 of them.", Says, none, AnyUser, nil},
		{"user-mount", "Mounts a file system in one.", Says, asUser, AnyUser, noUsers},
		{"user-network", "Opens a packet socket in one.", Says, asUser, AnyUser, noUsers},
		{"unshare-mounts", "Makes a mount namespace.", Says, 0, Rights, nil},
		{"unshare-pid", "Makes a PID namespace.", Says, 0, Rights, nil},
		{"unshare-network", "Makes a network namespace.", Says, 0, Rights, nil},
		{"unshare-ipc", "Makes an IPC namespace.", Says, 0, Rights, nil},
		{"unshare-host-name", "Makes a UTS namespace.", Says, 0, Rights, nil},
		{"unshare-cgroup", "Makes a cgroup namespace.", Says, 0, Rights, nil},
		{"unshare-time", "Makes a time namespace.", Says, 0, Rights, nil},
		{"user-unprotect", "Removes the mount that protects a path, in a mount namespace of its own.", Changes, none, AnyUser, nil},
		{"join-user", "Joins the user namespace of another process.", Says, none, AnyUser, nil},
		{"join-network", "Joins its network namespace.", Says, none, AnyUser, nil},
		{"join-mounts", "Joins its mount namespace.", Says, none, AnyUser, nil},
		{"join-pidfd", "Joins several by a descriptor of the process.", Says, none, AnyUser, nil},
		{"mount", "Mounts a file system.", Says, 0, Rights, nil},
		{"mount-bind", "Mounts a directory that is outside of the workspace, and reads a file in it.", Reads, 0, Rights, nil},
		{"mount-new", "Opens a file system to be mounted (fsopen).", Says, 0, Rights, nil},
		{"mount-tree", "Copies a mount (open_tree).", Says, 0, Rights, nil},
		{"remount", "Changes what a mount allows.", Says, 0, Rights, nil},
		{"unmount", "Removes a mount.", Says, 0, Rights, nil},
		{"pivot-root", "Exchanges the root.", Says, 0, Rights, nil},
		{"chroot", "Enters another root.", Says, asUser, Root, nil},
	}, false},
	{"The kernel", "What would change the machine is called with arguments that cannot be right.", "kernel", []Attempt{
		{"bpf", "Makes a BPF map.", Says, 0, Rights, nil},
		{"perf", "Measures itself (perf_event_open).", Says, asUser, AnyUser, nil},
		{"userfaultfd", "Handles its own page faults (userfaultfd).", Says, asUser, AnyUser, nil},
		{"fanotify", "Watches file systems (fanotify).", Says, asUser, AnyUser, nil},
		{"io-uring", "Sets up io_uring.", Says, asUser, AnyUser, nil},
		{"aio", "Sets up asynchronous reads and writes (io_setup), of which the machine has a number.", Says, asUser, AnyUser, nil},
		{"lease", "Takes a lease on a file of its user, for which whoever opens it waits.", Says, none, AnyUser, nil},
		{"lease-system", "Takes one on a file of the system.", Says, none, Root, nil},
		{"own-listener", "Installs a filter of system calls that it answers itself, in place of the host.", Says, none, AnyUser, nil},
		{"secret-memory", "Makes memory that the kernel cannot read (memfd_secret).", Says, asUser, AnyUser, nil},
		{"keyring-add", "Adds a key to a keyring of its own.", Says, asUser, AnyUser, nil},
		{"keyring-session", "Makes a session keyring.", Says, asUser, AnyUser, nil},
		{"personality", "Switches off the randomizing of addresses.", Says, asUser, AnyUser, nil},
		{"descriptor-table", "Reads its segment descriptors (modify_ldt).", Says, asUser, AnyUser, nil},
		{"calls-i386", "Makes a system call of i386, which a filter may not know.", Says, asUser, AnyUser, nil},
		{"calls-x32", "Makes a system call of x32.", Says, asUser, AnyUser, nil},
		{"kexec", "Loads another kernel.", Says, 0, Rights, nil},
		{"module", "Loads a module.", Says, 0, Rights, nil},
		{"module-remove", "Removes a module.", Says, 0, Rights, nil},
		{"swap", "Swaps to a file.", Says, 0, Rights, nil},
		{"quota", "Asks for a quota.", Says, asUser, AnyUser, nil},
		{"accounting", "Has the kernel record processes.", Says, none, Root, nil},
		{"clock", "Sets the clock.", Says, none, Root, nil},
		{"host-name", "Sets the machine's name.", Says, 0, Rights, nil},
		{"reboot", "Reboots.", Says, 0, Rights, nil},
	}, false},
	{"Rights and limits", "", "kernel", []Attempt{
		{"gain-by-program", "Could gain rights by running a program.", Says, none, AnyUser, nil},
		{"regain", "Takes back rights that it had.", Says, 0, Rights, nil},
		{"change-user", "Becomes another user.", Says, asUser, Root, nil},
		{"raise-limit", "Raises a hard limit.", Says, none, Luck, nil},
		{"change-brand", "Changes the limit by which its host knows its processes (RLIMIT_LOCKS).", Says, none, AnyUser, nil},
		{"raise-priority", "Raises its priority.", Says, none, Root, nil},
		{"real-time", "Gets precedence over all other processes.", Says, none, Root, nil},
	}, false},
	{"Staying when the plugin is closed", "", "processes", []Attempt{
		{"stay-forked", "Leaves a process without a parent, in a session of its own.", Stays, 0, AnyUser, nil},
		{"stay-ignoring", "Leaves one that ignores signals.", Stays, 0, AnyUser, nil},
		{"stay-unmarked", "Leaves a program that was started with no environment.", Stays, 0, AnyUser, nil},
		{"stay-cleared", "Leaves one that has cleared its environment in its memory.", Stays, 0, AnyUser, nil},
		{"stay-concealed", "Leaves one that shows no one its environment (PR_SET_DUMPABLE).", Stays, 0, AnyUser, nil},
		{"stay-lowered", "Leaves one that has lowered the limit by which its host knows it (RLIMIT_LOCKS).", Stays, 0, Luck, nil},
		{"parent-zombies", "Leaves one that has ended to its host, as a child that no one reaps (CLONE_PARENT).", Lingers, 0, AnyUser, nil},
		{"stay-in-group", "Moves to another control group.", Says, none, Root, noView},
		{"leave-segment", "Leaves a shared memory segment.", Stays, none, AnyUser, noIPC},
		{"late-listener", "Leaves one that waits for the plugin's end and then connects to the daemon's socket, with a filter of its own that lets it.", ArrivesLate, 0, AnyUser, nil},
	}, false},
	{"Limits", "Each takes more than the limit, which is set.", "", []Attempt{
		{"take-memory", "Takes memory.", Says, none, AnyUser, nil},
		{"take-processes", "Starts processes.", Says, none, AnyUser, noGroup},
		{"take-descriptors", "Opens files.", Says, none, AnyUser, nil},
		{"take-signals", "Has 5,000 signals wait, by timers.", Says, none, AnyUser, nil},
		{"take-disk", "Makes a file that is too large.", Says, none, AnyUser, nil},
		{"take-tmp", "Makes temporary files that are too large together.", Says, none, AnyUser, tmpOfUser},
		{"take-processor", "Computes.", RunsOn, none, AnyUser, noGroup},
	}, true},
}

// lines are the lines of attempts that belong to another one than most of their group.
var lines = map[string]string{
	"read-first": "processes", "read-neighbour-root": "processes", "read-neighbour-cwd": "processes", "read-neighbour-file": "processes",
	"read-host-root": "processes", "read-host-file": "processes",

	"terminal-type": "kernel", "terminal-type-own": "kernel", "console": "read", "kernel-files": "read", "keyring-user": "kernel", "disk": "read", "make-device": "write", "proc-sys": "write", "sys": "write",
	"ptrace-me": "kernel",

	"raw": "kernel", "packet": "kernel", "netlink-audit": "kernel", "netlink-netfilter": "kernel",
	"network-settings": "kernel", "crypto": "kernel", "other-families": "kernel", "uring-open": "read",
	"exec-over-listed": "write",

	"user-unprotect": "protected", "join-user": "processes", "join-network": "processes", "join-mounts": "processes", "join-pidfd": "processes",

	"take-memory": "memory", "take-processes": "pids", "take-descriptors": "files", "take-disk": "disk", "take-tmp": "disk", "take-processor": "cpu",
}

// LineOf returns the line of a sandbox's report that says whether an attempt is possible.
func LineOf(g *Group, a Attempt) string { return cmp.Or(lines[a.Name], g.Line) }
