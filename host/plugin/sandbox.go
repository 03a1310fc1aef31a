package plugin

import (
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Sandbox is what the operator lets a plugin's process have. A list that is nil leaves it to
// what the plugin declares ([tool.Needs]) or, if it declares nothing, to what the system lets
// any process of the host's user have; a list that is empty gives nothing. The words are
// those of [tool.Needs]. The JSON names are those of toolhost.yaml.
type Sandbox struct {
	// Level says what follows if this system cannot enforce all of it. Default:
	// [BestEffort].
	Level SandboxLevel `json:"level"`
	// Read, Write, Net and Exec replace what the plugin declares. "any" gives everything.
	Read  []string `json:"read,omitzero"`
	Write []string `json:"write,omitzero"`
	Net   []string `json:"net,omitzero"`
	Exec  []string `json:"exec,omitzero"`
	// Memory bounds the memory of the process and what it starts, together with its /tmp, in
	// bytes; 0: what it declares or, where a control group can be made, half of the machine's; -1: no bound.
	Memory int64 `json:"memory,omitempty"`
	// CPU bounds how many processors they use together, such as 0.5; 0: what it declares, or
	// no bound.
	CPU float64 `json:"cpu,omitempty"`
	// PIDs bounds how many processes and threads they are together; 0: 4,096 where a control group can
	// be made; -1: no bound.
	PIDs int `json:"pids,omitempty"`
	// Files bounds how many descriptors each process has; 0: 65,536, or half of the host's limit.
	Files int `json:"files,omitempty"`
	// Disk bounds the size of each file that they write and of their /tmp, in bytes; 0: no
	// bound for files, 64 MiB for /tmp.
	Disk int64 `json:"disk,omitempty"`
	// Env names the variables of the host's environment that the process sees in place of
	// the few that every plugin sees; nil: those few.
	Env []string `json:"env,omitzero"`
}

// Undecided returns those of the differences between declarations that the operator has left
// to what the plugin declares: of lines that the sandbox has itself, nothing is to be accepted.
func (s Sandbox) Undecided(all tool.NeedsChanges) tool.NeedsChanges {
	if s.Level == NoSandbox {
		return nil
	}
	decided := map[string]bool{
		"read": s.Read != nil, "write": s.Write != nil, "net": s.Net != nil, "exec": s.Exec != nil,
		"memory": s.Memory != 0, "cpu": s.CPU != 0,
		"": s.Read != nil && s.Write != nil && s.Net != nil && s.Exec != nil,
	}
	var out tool.NeedsChanges
	for _, c := range all {
		if !decided[c.Line] {
			out = append(out, c)
		}
	}
	return out
}

// SandboxLevel says how strictly a [Sandbox] is applied.
type SandboxLevel string

// The levels.
const (
	// Strict refuses to start what this system cannot enforce in full.
	Strict SandboxLevel = "strict"
	// BestEffort enforces what this system can, and the plugin's status says what it cannot.
	BestEffort SandboxLevel = "best-effort"
	// NoSandbox applies nothing.
	NoSandbox SandboxLevel = "none"
)

// SandboxStatus is what the process of a plugin may do, and what becomes of that on this system.
type SandboxStatus struct {
	Level SandboxLevel `json:"level"`
	// InForce reports whether a process runs like that. If not, it is what one would get.
	InForce bool `json:"in_force"`
	// Undeclared reports that the plugin does not declare what it needs, so that what the operator
	// does not decide is left to it.
	Undeclared bool `json:"undeclared,omitempty"`
	// Lines are what it may do, line by line; nil: there is no sandbox, or Fault says why that is
	// not known.
	Lines []SandboxLine `json:"lines,omitempty"`
	Fault string        `json:"fault,omitempty"` // fit to be shown
	// Less is what earlier starts here enforced and the next would not, so that it is refused until the
	// operator accepts it; nil: nothing.
	Less []EnforcesLess `json:"enforces_less,omitempty"`
	// Advice says what is open, and which key closes it. Empty: nothing is.
	Advice string `json:"advice,omitempty"`
	// Denied is what was refused to it so far, as far as the system tells: not what files were.
	Denied []Denial `json:"denied,omitempty"`
}

// Open returns the lines that are not enforced in full.
func (s SandboxStatus) Open() []SandboxLine { return sandbox.Report(s.Lines).Open() }

// SandboxLine is one line of what a process may do.
type SandboxLine = sandbox.Line
