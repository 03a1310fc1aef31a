package plugin

import (
	"encoding/json"
	"reflect"
	"time"
)

// Settings is what the operator decides for one plugin. The zero value is what
// the host's options say.
type Settings struct {
	// Disabled keeps the plugin from being run. It is listed, and has no tools.
	Disabled bool
	// Reason is why it is disabled, which its status shows. Empty: the operator's word.
	Reason string
	// Args are given to the binary.
	Args []string
	// Env are variables, NAME=value, beside those of host.WithPluginEnv.
	Env []string
	// Config is the plugin's own configuration, a JSON object that fits the schema it
	// declares; empty: none.
	Config json.RawMessage
	// Carrier is what calls travel on; empty: that of host.WithCarrier.
	Carrier Carrier
	// Namespace says whether it gets a PID namespace; empty: what host.WithNamespace says.
	Namespace Namespace
	// StartTimeout bounds a start; 0: that of host.WithStartTimeout.
	StartTimeout time.Duration
	// IdleTimeout ends a process that nobody uses for so long, or a quarter longer; the
	// next call starts it again. 0: that of host.WithIdleTimeout; below 0: never.
	IdleTimeout time.Duration
	// Restart says what becomes of it if it fails again and again; nil: what
	// host.WithRestartPolicy says.
	Restart *RestartPolicy
	// Limits bound its calls; nil: those of the host's options.
	Limits *Limits
	// NoPreviews keeps approvers from asking its tools for previews.
	NoPreviews bool
}

// Limits bound the calls of one plugin's tools. The zero value bounds nothing, and
// repeats nothing.
type Limits struct {
	// CallTimeout bounds one attempt of a tool that names no limit itself; 0: no bound.
	CallTimeout time.Duration
	// MaxTimeout bounds what a tool may claim: a call of one that names a limit takes no
	// longer, over all attempts; 0: no bound. An host.Override.Timeout or CallTimeout that is
	// longer holds.
	MaxTimeout time.Duration
	// Running is how many calls run at a time, 0: any number, and Waiting how many more
	// wait for their turn.
	Running, Waiting int
	// MaxResult bounds a result, in bytes; 0: no bound of the host's own.
	MaxResult int
	// MaxRetries is how often a failed call is repeated at most, whatever its tool asks
	// for.
	MaxRetries int
}

// Equal reports whether two settings say the same.
func (s Settings) Equal(other Settings) bool { return reflect.DeepEqual(s, other) }
