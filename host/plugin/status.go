package plugin

import (
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/need"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// State is what an operator sees of a plugin.
type State string

// The states.
const (
	Idle     State = "idle"     // not running; the next call starts it
	Starting State = "starting" // started, not described yet
	Ready    State = "ready"    // takes calls
	Draining State = "draining" // takes no more calls
	Disabled State = "disabled" // the operator does not want it
	Refused  State = "refused"  // did not start, or must not
	// Degraded: it takes calls, and its health service says that it is not well, or
	// says nothing.
	Degraded State = "degraded"
	// Backoff: it failed several times in a row, and its next start has to wait.
	Backoff State = "backoff"
	// Quarantined: it failed so often that calls are refused; see [RestartPolicy].
	Quarantined State = "quarantined"
)

// Status is a plugin at one moment.
type Status struct {
	Name    string `json:"name"`
	Path    string `json:"path"`           // of its file; of a server, a command or a URL
	Kind    string `json:"kind,omitempty"` // such as mcp; empty: it is a plugin's file
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"` // why it is refused or degraded, or how the last run ended
	PID     int    `json:"pid,omitempty"`
	Spare   int    `json:"spare_pid,omitempty"` // of the process that is kept warm; 0: there is none
	Version string `json:"version,omitempty"`   // the plugin's own
	SDK     string `json:"sdk,omitempty"`
	// KeepsSessions says that it keeps state for each session.
	KeepsSessions bool `json:"keeps_sessions,omitempty"`
	Tools         int  `json:"tools"`
	// Carrier is what calls travel on; empty: the plugin is not running.
	Carrier Carrier `json:"carrier,omitempty"`
	// Calls counts the calls under way.
	Calls int `json:"calls"`
	// Output says that the newest run writes more than the host reads; empty: it does not.
	Output string `json:"output,omitempty"`
	// Upgrade says why a newer binary, or newer settings, could not be used, so that the
	// plugin runs on as it was. Empty: no upgrade has failed.
	Upgrade string `json:"upgrade,omitempty"`
	// RolledBack says which kept binary serves in place of the file, as the operator went
	// back to it. Empty: none.
	RolledBack string `json:"rolled_back,omitempty"`
	// Kept are the binaries that served last and of which there is a copy, the newest first.
	Kept []KeptBinary `json:"kept,omitempty"`
	// Held says what has changed inside the workspace and waits for the operator's
	// approval, while the plugin runs on as it was. Empty: nothing has.
	Held string `json:"held,omitempty"`
	// ConfigSchema is the JSON Schema of the configuration that the plugin takes; empty: none, or
	// it is not known, or larger than 64 KiB.
	ConfigSchema tool.Schema `json:"config_schema,omitempty"`
	// Needs is what the plugin declares to need; nil: it does not declare it, as Undeclared says,
	// or has not described itself.
	Needs      *tool.Needs `json:"needs,omitempty"`
	Undeclared bool        `json:"undeclared,omitempty"`
	// WantsMore is what it declares and the operator has not accepted, so that it runs without.
	// Nil: nothing.
	WantsMore *WantsMore `json:"wants_more,omitempty"`
	// Changed are the tools that are not as they were when the operator gave them a level, and are
	// dangerous until he accepts that. Nil: none.
	Changed []ChangedTool `json:"changed,omitempty"`
	// Signature says how its file is signed. Nil: signatures do not count, it has not
	// described itself since they do, or it is refused.
	Signature *Signature `json:"signature,omitempty"`
	// RetryAt is when a plugin that did not start, and whose tools are not known, may be
	// started again by a call. Zero: nothing keeps it from being started.
	RetryAt time.Time `json:"retry_at,omitzero"`
	// Lost are the names of its tools, and of what else it has, that belong to another, so that these are not
	// served until the other is gone or gives the names up. Nil: none.
	Lost []LostName `json:"lost,omitempty"`
	// Offers is what a server has besides tools, as far as it is known; nil: nothing.
	Offers *Offers `json:"offers,omitempty"`
	// Waiting counts the calls that wait for their turn, see [Limits].
	Waiting int `json:"waiting,omitempty"`
	// Starts counts the starts.
	Starts int `json:"starts"`
	// Crashes counts the runs that ended by the plugin's fault.
	Crashes int `json:"crashes,omitempty"`
	// Upgrades counts how often another binary, or other settings, took the place of those before.
	Upgrades int `json:"upgrades,omitempty"`
	// Took is how long the newest start took, from fork to description.
	Took tool.Duration `json:"start_took,omitempty"`
	// Since is when the newest run was ready; zero: never.
	Since time.Time `json:"since,omitzero"`
	// LastFault is the last call that failed by the plugin's fault while its process
	// went on: it did not answer in time, with nonsense, or with too much. Nil: none.
	LastFault *Fault `json:"last_fault,omitempty"`
	// Usage is what its processes use, as of a quarter of a second ago at most. Nil: it has had none.
	Usage *Usage `json:"usage,omitempty"`
}

// Usage is what the processes of a plugin use, with a spare and those that were replaced and whose calls
// have not ended.
type Usage struct {
	// CPU is the processor time of all its processes since the plugin was loaded: it never becomes less.
	CPU tool.Duration `json:"cpu"`
	// Memory is in bytes, and MaxMemory the most that it was since the processes of now began, as far as that
	// was seen. 0: no process runs, or it is not known.
	Memory    int64 `json:"memory"`
	MaxMemory int64 `json:"max_memory"`
	// Descriptors are those that are open.
	Descriptors int `json:"descriptors"`
	// Refused counts the accesses that its sandbox refused, as far as the system tells: system calls and
	// hosts, not files.
	Refused int64 `json:"refused"`
	// Group says that a control group counts CPU and memory, of all that the processes have started. Else they are
	// sums over the processes that can be found in /proc, which count what these share several times.
	Group bool `json:"group"`
}

// Offers counts what a server has besides tools, at most 1,000 of each kind.
type Offers struct {
	Prompts   int       `json:"prompts"`
	Resources int       `json:"resources"`
	Templates int       `json:"templates"` // of resources
	Since     time.Time `json:"since"`     // when it first had any
}

// WantsMore is by what a plugin's needs exceed what was accepted of them.
type WantsMore struct {
	Changes need.Diff `json:"changes"`
	Text    string    `json:"text"`   // Changes on one line, fit to be shown
	Accept  string    `json:"accept"` // what accepts them, such as a command
}

// ChangedTool is a tool whose definition has changed since the operator gave it a level.
type ChangedTool struct {
	Tool  string      `json:"tool"`  // as its plugin calls it
	Level tool.Safety `json:"level"` // that it was given
	Text  string      `json:"text"`  // what has changed, on one line, fit to be shown
	// Definition is the definition as it is now: JSON with sorted keys, or its digest.
	Definition string `json:"definition"`
}

// Signature is how a plugin's file is signed. The zero value: it is not.
type Signature struct {
	// Publisher is the trusted publisher who signed it, by the operator's name. Empty: none did.
	Publisher string `json:"publisher,omitempty"`
	// Key is the ID of the key, in hexadecimal digits as minisign shows it. Without a Publisher it
	// is only what the signature claims.
	Key string `json:"key,omitempty"`
	// Version is that of the signed manifest, if there is a publisher.
	Version string `json:"version,omitempty"`
}

// String is the signature on one line, for people.
func (s Signature) String() string {
	switch {
	case s.Publisher != "":
		return fmt.Sprintf("by %s, with key %s, as version %s", s.Publisher, s.Key, s.Version)
	case s.Key != "":
		return fmt.Sprintf("with key %s, of no trusted publisher", s.Key)
	}
	return "no"
}

// KeptBinary is a copy of a binary that served.
type KeptBinary struct {
	SHA256  string    `json:"sha256"` // lower-case hexadecimal
	Version string    `json:"version,omitempty"`
	Served  time.Time `json:"served"`            // when it began to serve last
	Current bool      `json:"current,omitempty"` // it serves now
}

// Fault is what was wrong with a plugin's answer to a call.
type Fault struct {
	Text string    `json:"text"` // fit to be shown
	Time time.Time `json:"time"`
}
