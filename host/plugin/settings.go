package plugin

import (
	"encoding/json"
	"time"

	"github.com/toolhost/toolhost/internal/observe"
)

// Settings is how a plugin is run, as the operator decides. [DefaultSettings] returns
// the defaults.
//
// The JSON names are those of toolhost.yaml, of which package setting reads the tags: the first
// paragraph of a comment is what its reference says. A setting of 0 is never, or no bound.
type Settings struct {
	// Enabled says whether the plugin or server runs. false under defaults runs only those that are enabled by name.
	//
	// A plugin that is not enabled is listed and has no tools.
	Enabled bool `json:"enabled" default:"true" example:"false"`
	// Reason explains in the plugin's status why it is not enabled. Empty: the
	// operator disabled it.
	Reason string `json:"-"`
	// SHA256 is the digest, in hexadecimal digits, of the only content of the file that may run:
	// a copy of it is compared, and runs. Default: empty, and any may.
	SHA256 string `json:"-"`
	// Args are arguments of the binary. Default: none.
	Args []string `json:"arguments,omitempty" example:"--verbose"`
	// Env holds variables, NAME=value, in addition to the few of the host's environment that every plugin
	// gets. Default: none.
	Env []string `json:"-"`
	// Config is the plugin's own configuration, a mapping that fits the schema of the plugin. In toolhost.yaml a text in
	// it may be {from_env: NAME} or {from_file: PATH}, as in environment. Default: none.
	Config json.RawMessage `json:"config,omitempty" title:"a mapping, which the plugin gets as a JSON object" example:"{\"depth\": 3}"`
	// Carrier is what calls travel on: socket, stream (slower) or unary. If a plugin does not offer it, the host uses
	// the next that the plugin does.
	Carrier Carrier `json:"carrier" enum:"socket,stream,unary" default:"socket"`
	// Namespace says whether the process gets its own PID namespace (Linux): auto makes one if the host may, on makes
	// one or fails, off makes none. Quote on and off if your editor takes them for true and false.
	Namespace Namespace `json:"namespace" enum:"auto,on,off" default:"auto"`
	// Sandbox is what the process may have of this system, which the kernel enforces. Each line that is set replaces
	// what the plugin declares that it needs; a plugin that declares nothing has what any process of this user has,
	// where no line is set. declared takes back what defaults says.
	Sandbox Sandbox `json:"sandbox"`
	// Unchecked has arguments reach the tools whether they fit the schemas or not, within the bounds of size.
	Unchecked bool `json:"-"`
	// Trace records what the process uses, to propose a sandbox. Nothing is refused to it,
	// whatever Sandbox says, and it starts only where this can be seen: on Linux. Default: nil.
	Trace *observe.Trace `json:"-"`
	// Previews says whether people who approve a call are shown what it would do. The host asks the plugin.
	Previews bool `json:"previews" default:"true" example:"false"`
	// IdleTimeout is how long a process may go without a call before it is ended, at least 1s, or never. The next call
	// starts it again.
	//
	// It may be ended up to a quarter of it later.
	IdleTimeout time.Duration `json:"idle_time" minimum:"1s" maximum:"8760h" words:"never=0" default:"never" example:"1h"`
	// Spare is how many processes are kept warm next to the one that serves, 0 or 1, each with limits of its own. It
	// takes over after a crash, and ends with the plugin.
	Spare int `json:"spare" minimum:"0" maximum:"1" default:"0" example:"1"`
	// StartTimeout bounds a start, from fork to description, 100ms to 10m. An MCP server has a minute, as npx and
	// uvx may have to download first.
	//
	// 0 means the default, 10s.
	StartTimeout time.Duration `json:"start_timeout" minimum:"100ms" maximum:"10m" default:"10s" example:"20s"`
	// CallTimeout bounds one attempt of a tool that names no limit itself, 1ms to 24h, or never.
	CallTimeout time.Duration `json:"call_timeout" words:"never=0" default:"1m" example:"2m"`
	// MaxTimeout bounds a call, over all attempts, of a tool that names a limit itself, 1ms to 24h, or never. A longer
	// timeout under tools, or a longer call_timeout, takes precedence.
	MaxTimeout time.Duration `json:"max_timeout" words:"never=0" default:"10m" example:"30m"`
	// AskTimeout bounds how long a question of a tool waits for an answer, 1ms to 24h, or never, which is as long as
	// its call. The limit of an attempt stands still meanwhile; max_timeout does not.
	AskTimeout time.Duration `json:"ask_timeout" words:"never=0" default:"5m" example:"1m"`
	// Limits are what the plugin's calls may take.
	Limits Limits `json:"limits"`
	// Restart is what happens to a plugin that fails again and again. A failure is a start that does not
	// succeed, or a run that ends too soon.
	Restart RestartPolicy `json:"restart"`
}

// Limits bounds what the calls of one plugin's tools may take. 0 is unlimited, but for Waiting,
// MaxRetries and Questions.
type Limits struct {
	// Running is how many calls run at a time, 1 to 65536, or unlimited.
	Running int `json:"running" minimum:"1" maximum:"65536" words:"unlimited=0" default:"256" example:"8"`
	// Waiting is how many more calls wait for their turn, 0 to 1048576.
	Waiting int `json:"waiting" minimum:"0" maximum:"1048576" default:"1024" example:"0"`
	// MaxResult bounds a result, 1KiB to 1GiB, or unlimited.
	//
	// It is in bytes. A bound of the plugin's own holds, too.
	MaxResult int `json:"max_result" is:"size" minimum:"1KiB" maximum:"1GiB" words:"unlimited=0" default:"64MiB" example:"1MiB"`
	// MaxRetries bounds how often a failed call is repeated, whatever its tool asks for, 0 to 10.
	MaxRetries int `json:"max_retries" minimum:"0" maximum:"10" default:"10" example:"2"`
	// Questions is how many questions a call may put to its caller, 0 to 256.
	//
	// More than 256 are a fault of the plugin.
	Questions int `json:"questions" minimum:"0" maximum:"256" default:"16" example:"4"`
}

// DefaultSettings returns the settings of a plugin for which the operator has decided
// nothing. Those of toolhost.yaml also have an idle time, of 10 minutes.
func DefaultSettings() (s Settings) {
	s.setDefaults()
	return s
}
