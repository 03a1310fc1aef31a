package escape

import "hash/fnv"

// A World is what a test has made for attempts: nothing of it is anything's but the test's.
// The JSON of it is the argument of the probe's tool.
type World struct {
	// Nonce is what programs are to print and listeners are to be told in this attempt.
	Nonce string `json:"nonce"`
	// Workspace is the plugin's root. It has the file "inside", with the secret; "out", a
	// link to Secret; "door", a link to Outside; and "program", a copy of Unlisted.
	Workspace string `json:"workspace"`
	// Outside is a directory next to the workspace, with the file Secret.
	Outside string `json:"outside"`
	Secret  string `json:"secret"`
	// Target is a file that this attempt is to change. It is in Outside or, for attempts
	// against protected paths, in the workspace and protected. Mine is a file of the workspace
	// that this attempt may use up.
	Target string `json:"target"`
	Mine   string `json:"mine"`
	// Sealed is a file of the plugin's user that no one may read by its mode.
	Sealed string `json:"sealed"`
	// Tmp and Shm are directories in /tmp and /dev/shm, each with a file "secret".
	Tmp string `json:"tmp"`
	Shm string `json:"shm"`
	// Handle is what name_to_handle_at(2) says of Secret or, for an attempt that is to change a
	// file, of Target; empty: the file system has none.
	Handle     []byte `json:"handle,omitempty"`
	HandleType int32  `json:"handle_type,omitempty"`

	// Neighbour is another plugin's process, Apart one in namespaces of its own, and Host the
	// test itself.
	Neighbour Victim `json:"neighbour"`
	Apart     Victim `json:"apart"`
	Host      Victim `json:"host"`

	// Daemon, Foreign and Datagram are Unix sockets in Outside that listen for streams, the
	// last for datagrams. Abstract is the name of one for streams, without the zero byte.
	Daemon   string `json:"daemon"`
	Foreign  string `json:"foreign"`
	Datagram string `json:"datagram"`
	// Inside is one in Workspace.
	Inside   string `json:"inside"`
	Abstract string `json:"abstract"`
	// TCP, TCP6, Metadata, Listed, UDP, UDPLite and DNS listen on loopback. Listed is what a
	// sandbox with a list of hosts allows. TCP6 and UDPLite are empty if the kernel has none.
	TCP      string `json:"tcp"`
	TCP6     string `json:"tcp6"`
	Metadata string `json:"metadata"`
	Listed   string `json:"listed"`
	UDP      string `json:"udp"`
	UDPLite  string `json:"udplite,omitempty"`
	DNS      string `json:"dns"`

	// Terminal is the path of the neighbour's controlling terminal.
	Terminal string `json:"terminal"`
	// Segment is a System V shared memory segment, Queue a POSIX message queue, and Key the
	// description of a key in the keyring of the user, each with the secret.
	Segment int    `json:"segment"`
	Queue   string `json:"queue"`
	Key     string `json:"key"`
	// CGroup is a control group with no process in it; empty: none can be made.
	CGroup string `json:"cgroup,omitempty"`

	// Program prints its arguments, and is on the list of a sandbox that has a list of
	// programs. Unlisted does so too. Setuid is a program that tells its effective user,
	// and has another than its caller's if its mode counts; empty: only root can make one.
	Program  string `json:"program"`
	Unlisted string `json:"unlisted"`
	Setuid   string `json:"setuid"`
}

// SegmentSize is that of a shared memory segment that this attempt leaves, by which the test
// knows it.
func (w *World) SegmentSize() int {
	sum := fnv.New32()
	_, _ = sum.Write([]byte(w.Nonce))
	return 4096 + int(sum.Sum32()%(1<<20))
}

// A Victim is a process that is to be attacked.
type Victim struct {
	// PID and TID are its number and a thread's, in the namespace of the test.
	PID int `json:"pid"`
	TID int `json:"tid"`
	// File is a descriptor of a file with the secret, which has no name.
	File int `json:"file"`
	// Secret is the address of the secret in its memory, and Scratch that of as many bytes
	// that may be written to.
	Secret  uintptr `json:"secret"`
	Scratch uintptr `json:"scratch"`
	// Length is that of the secret.
	Length int `json:"length"`
}

// SecretPrefix begins each secret.
const SecretPrefix = "secret-"

// NeedsVariable has what the probe declares to need, as JSON; empty: nothing is declared.
const NeedsVariable = "ESCAPE_NEEDS"
