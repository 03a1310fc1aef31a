package plugin

import (
	"encoding/json"
	"reflect"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Settings is how a plugin is run, as the operator decides. [DefaultSettings] returns
// the defaults. The JSON names are those of toolhost.yaml.
type Settings struct {
	// Enabled lets the plugin run. A plugin that is not enabled is listed and has no
	// tools. Default: true.
	Enabled bool `json:"enabled"`
	// Reason explains in the plugin's status why it is not enabled. Empty: the
	// operator disabled it.
	Reason string `json:"-"`
	// SHA256 is the digest, in hexadecimal digits, of the only content of the file that may run:
	// a copy of it is compared, and runs. Default: empty, and any may.
	SHA256 string `json:"-"`
	// Args are the arguments of the binary. Default: none.
	Args []string `json:"arguments,omitempty"`
	// Env holds variables, NAME=value, in addition to those of host.WithPluginEnv and
	// the few that every plugin gets. Default: none.
	Env []string `json:"-"`
	// Config is the plugin's own configuration, a JSON object that fits the schema that
	// the plugin declares. Default: none.
	Config json.RawMessage `json:"config,omitempty"`
	// Carrier is what calls travel on. Default: [Stream].
	Carrier Carrier `json:"carrier"`
	// Namespace says whether the plugin gets a PID namespace. Default: [NamespaceAuto].
	Namespace Namespace `json:"namespace"`
	// Sandbox is what the process may have. Default: what the plugin declares, at the level
	// [BestEffort].
	Sandbox Sandbox `json:"sandbox"`
	// Trace records what the process uses, to propose a sandbox. Nothing is refused to it,
	// whatever Sandbox says, and it starts only where this can be seen: on Linux. Default: nil.
	Trace *Trace `json:"-"`
	// Previews lets approvers ask the plugin's tools what a call would do. Default: true.
	Previews bool `json:"previews"`
	// IdleTimeout ends a process that has had no calls for this long, or up to a quarter
	// longer. The next call starts it again. Default: 0, never.
	IdleTimeout time.Duration `json:"idle_time"`
	// StartTimeout bounds a start, from fork to description. Default:
	// [DefaultStartTimeout], which 0 also means.
	StartTimeout time.Duration `json:"start_timeout"`
	// CallTimeout bounds one attempt of a tool that names no limit itself; 0: no bound.
	// Default: 1 min.
	CallTimeout time.Duration `json:"call_timeout"`
	// MaxTimeout bounds a call, over all attempts, of a tool that names a limit itself;
	// 0: no bound. A host.Override.Timeout or CallTimeout that is longer takes
	// precedence. Default: 10 min.
	MaxTimeout time.Duration `json:"max_timeout"`
	// AskTimeout bounds how long a question of a tool waits for an answer; 0: as long as its
	// call. The limit of an attempt stands still meanwhile, and MaxTimeout does not.
	// Default: 5 min.
	AskTimeout time.Duration `json:"ask_timeout"`
	// Limits bounds what calls may take.
	Limits Limits `json:"limits"`
	// Restart says what happens to a plugin that fails again and again.
	Restart RestartPolicy `json:"restart"`
}

// Limits bounds what the calls of one plugin's tools may take.
type Limits struct {
	// Running is how many calls run at a time; 0: no bound. Default: 256.
	Running int `json:"running"`
	// Waiting is how many more calls wait for their turn. Default: 1024.
	Waiting int `json:"waiting"`
	// MaxResult bounds a result, in bytes; 0: no bound of the host's own. Default: 64 MiB.
	MaxResult int `json:"max_result"`
	// MaxRetries bounds how often a failed call is repeated, whatever its tool asks for.
	// Default: [tool.MaxRetryLimit].
	MaxRetries int `json:"max_retries"`
	// Questions is how many questions a call may put to its caller; 0: none. More than 256
	// are a fault of the plugin. Default: 16.
	Questions int `json:"questions"`
}

// DefaultSettings returns the settings of a plugin for which the operator has decided
// nothing.
func DefaultSettings() Settings {
	return Settings{
		Enabled: true, Carrier: Stream, Namespace: NamespaceAuto, Previews: true,
		Sandbox:      Sandbox{Level: BestEffort},
		StartTimeout: DefaultStartTimeout, CallTimeout: time.Minute, MaxTimeout: 10 * time.Minute, AskTimeout: 5 * time.Minute,
		Limits:  Limits{Running: 256, Waiting: 1024, MaxResult: 64 << 20, MaxRetries: tool.MaxRetryLimit, Questions: 16},
		Restart: RestartPolicy{}.withDefaults(),
	}
}

// Equal reports whether two settings are the same.
func (s Settings) Equal(other Settings) bool { return reflect.DeepEqual(s, other) }

// SameProcess reports whether one process can serve under both settings: the others
// differ only in what the host itself decides.
func (s Settings) SameProcess(other Settings) bool {
	of := func(s Settings) Settings {
		return Settings{
			Enabled: s.Enabled, Args: s.Args, Env: s.Env, Config: s.Config, Carrier: s.Carrier, Namespace: s.Namespace,
			Sandbox: s.Sandbox, Trace: s.Trace,
		}
	}
	return of(s).Equal(of(other))
}
