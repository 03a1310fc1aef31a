package escape

import "slices"

// An Attempt is one thing that a plugin's process could do to get, change or reach what it
// was not granted; some are what it must be able to do.
type Attempt struct {
	// Name is a word or some with hyphens.
	Name string
	// Does says what it does, as a sentence.
	Does string
	// Proof is how the tests see that it was done.
	Proof Proof
	// Done are the profiles under which it succeeds. Under all others it is denied.
	Done Profiles
	// Takes says who can do it without any sandbox. Default: each user.
	Takes Takes
	// But says where it ends differently.
	But []Exception
}

// Proof is how a test sees that an attempt was done, other than by the probe's word.
type Proof int

// The proofs.
const (
	// Says: the kernel's answer to the probe is all there is to see.
	Says Proof = iota
	// Reads: the probe tells the secret, which it can know from nowhere else.
	Reads
	// Changes: the target is not as it was.
	Changes
	// Arrives: a listener of the test was told the nonce.
	Arrives
	// Signals: the neighbour got a signal.
	Signals
	// Runs: another program printed the nonce.
	Runs
	// Stays: what the attempt left is there when the plugin is closed.
	Stays
	// Lingers: the process that the attempt left is not reaped when the plugin is closed.
	Lingers
	// ArrivesLate: a listener of the test was told the nonce when the plugin was closed.
	ArrivesLate
	// RunsOn: the kernel did not stop it for what it had used of the processors. How long it
	// took does not tell, as others use them too.
	RunsOn
)

// Takes says who can do something without any sandbox.
type Takes int

// The choices.
const (
	// AnyUser can.
	AnyUser Takes = iota
	// Root can.
	Root
	// Rights are needed, of those that the host takes even from plugins of root.
	Rights
	// Equal rights are needed: a plugin of root has less than its host.
	Equal
	// Proxy: it takes the host's, which plugins have in a sandbox alone.
	Proxy
	// Luck: some machines let some users do it.
	Luck
)

// Profiles is a set of the profiles that a plugin can run under.
type Profiles uint

// The profiles. Each but the first two and the last declares one thing that it needs.
const (
	Undeclared Profiles = 1 << iota
	Nothing
	WorkspaceRead
	WorkspaceWrite
	NetList
	NetAny
	ExecList
	ExecAny
	NoSandbox // level none
)

// ProfileNames are the names of the profiles, in the order of their values.
var ProfileNames = []string{
	"undeclared", "nothing", "workspace-read", "workspace-write", "net-list", "net-any", "exec-list", "exec-any", "none",
}

// System is what a machine can enforce sandboxes with.
type System string

// The systems that the tests have.
const (
	// Namespaces: they can be made, by root or in a user namespace.
	Namespaces System = "namespaces"
	// Bare: they cannot. Landlock and seccomp are there.
	Bare System = "bare"
	// Ungrouped: the host can make no control groups.
	Ungrouped System = "ungrouped"
	// AsRoot: the host runs as root.
	AsRoot System = "root"
)

// An Exception is a system and profiles for which an attempt ends differently from what
// [Attempt.Done] says.
type Exception struct {
	On    System // empty: each
	Under Profiles
	// Why says which mechanism is missing, or there.
	Why string
}

// Expected returns how the attempt ends in a sandbox of root's or another user's host, on a
// machine that all of these systems describe.
func (a Attempt) Expected(under Profiles, root bool, on ...System) Outcome {
	if root {
		on = append(slices.Clone(on), AsRoot)
	}
	done := a.Done&under != 0
	for _, e := range a.But {
		if (e.On == "" || slices.Contains(on, e.On)) && e.Under&under != 0 {
			done = a.Done&under == 0
		}
	}
	if done && a.possible(root) {
		return Done
	}
	return Denied
}

// possible reports whether a plugin can do it that no sandbox confines.
func (a Attempt) possible(root bool) bool {
	switch a.Takes {
	case Root:
		return root
	case Rights:
		return false
	case Equal:
		return !root
	}
	return true
}

// Unconfined returns how the attempt ends in a process that nothing confines; empty: that
// depends on the machine.
func (a Attempt) Unconfined(root bool) Outcome {
	if a.Takes == Luck {
		return ""
	}
	if !root && (a.Takes == Root || a.Takes == Rights) || a.Takes == Proxy {
		return Denied
	}
	return Done
}
