package plugin

import (
	"github.com/toolhost/toolhost/internal/sandbox"
	"time"
)

// Sandbox is what the operator lets a plugin's process have. A list that is nil leaves it to
// what the plugin declares ([tool.Needs]) or, if it declares nothing, to what the system lets
// any process of the host's user have; a list that is empty gives nothing. The words are
// those of [tool.Needs]. The JSON names are those of toolhost.yaml.
type Sandbox struct {
	// Level is what follows if this system cannot enforce all of it: strict does not start the process, best-effort
	// enforces what can be enforced and shows what cannot, none applies nothing.
	Level SandboxLevel `json:"level" enum:"strict,best-effort,none" default:"best-effort"`
	// Read is what it may read besides the programs, libraries and certificates of the system and what it may write: a
	// list of paths, with everything beneath them, and of the words workspace (the root) and any. One word may stand
	// for the list; none is the empty list.
	Read []string `json:"read,omitzero" is:"sandbox_read" title:"a list of paths" words:"declared=null none=[] workspace any" example:"[\"workspace\"] | any"`
	// Write is what it may change and read: a list of paths, with everything beneath them, and of the words workspace,
	// cache (a directory of its own that lasts) and any. It has a small /tmp of its own in any case.
	Write []string `json:"write,omitzero" is:"sandbox_write" title:"a list of paths" words:"declared=null none=[] workspace cache any" example:"workspace,cache | none"`
	// Net is what it may connect to: a list of HOST:PORT, in which the host is a name, an address or *.NAME, or any.
	// Quote what begins with *.
	Net []string `json:"net,omitzero" is:"sandbox_net" title:"a list of hosts with ports" words:"declared=null none=[] any" example:"api.example.com:443 | none"`
	// Exec is what it may start: a list of names that are looked up in PATH, paths of programs, directories
	// (everything in them), the words workspace and cache for what is built or installed there, and any.
	Exec []string `json:"exec,omitzero" is:"sandbox_exec" title:"a list of programs" words:"declared=null none=[] any" example:"git | none"`
	// Memory is how much memory it has, with what it starts and its /tmp, 16MiB to 65536GiB, or unlimited, or
	// declared: what the plugin declares or, where a control group can be made, half of the machine's.
	//
	// In bytes; 0: declared; -1: unlimited.
	Memory int64 `json:"memory,omitempty" is:"size" minimum:"16MiB" maximum:"65536GiB" words:"declared=0 unlimited=-1" example:"512MiB"`
	// CPU is how many processors it has, with what it starts, 0.01 to 4096, or declared: what the plugin declares, or
	// no bound.
	//
	// 0: declared.
	CPU float64 `json:"cpu,omitempty" title:"a number of processors from 0.01 to 4096 such as 0.5" minimum:"0.01" maximum:"4096" words:"declared=0" example:"0.5"`
	// PIDs is how many processes and threads it has, with what it starts, 8 to 4194304, or unlimited, or default:
	// 4096, where a control group can be made.
	//
	// 0: default; -1: unlimited.
	PIDs int `json:"pids,omitempty" minimum:"8" maximum:"4194304" words:"default=0 unlimited=-1" example:"256"`
	// Files is how many files and connections each of its processes may have open, 16 to 1073741816, or default:
	// 65536, or half of the host's own limit.
	//
	// 0: default.
	Files int `json:"files,omitempty" minimum:"16" maximum:"1073741816" words:"default=0" example:"1024"`
	// Disk is how large each file that it writes and its /tmp may become, 1MiB to 65536GiB, or default: 64MiB for
	// /tmp, and no bound for files.
	//
	// In bytes; 0: default.
	Disk int64 `json:"disk,omitempty" is:"size" minimum:"1MiB" maximum:"65536GiB" words:"default=0" example:"1GiB"`
	// Env is names of the variables of the host's environment that it sees, or default: PATH, HOME, TMPDIR, LANG, TZ,
	// XDG_CACHE_HOME and GO*. Values are given under environment.
	//
	// Nil: default.
	Env []string `json:"env,omitzero" is:"sandbox_env" title:"a list of names" words:"default=null none=[]" example:"PATH,LANG | none"`
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

// Denial is something that the sandbox of a plugin has refused to its process. What files it was
// refused is not known to the host.
type Denial struct {
	// What it is, such as "exec", "socket: network" or "net: example.com:443".
	What string `json:"what"`
	// Count is how often, over all runs, and Last when it was so last.
	Count int64     `json:"count"`
	Last  time.Time `json:"last"`
}

// EnforcesLess is a line that the first start of a plugin enforced, and the next would not.
type EnforcesLess = sandbox.Fall
