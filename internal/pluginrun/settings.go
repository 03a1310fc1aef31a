package pluginrun

import (
	"reflect"

	"github.com/toolhost/toolhost/host/plugin"
)

// SameProcess reports whether one process can serve under both settings: the others
// differ only in what the host itself decides.
func SameProcess(one, other plugin.Settings) bool {
	of := func(s plugin.Settings) plugin.Settings {
		return plugin.Settings{
			Enabled: s.Enabled, Args: s.Args, Env: s.Env, Config: s.Config, Carrier: s.Carrier, Namespace: s.Namespace,
			Sandbox: s.Sandbox, Trace: s.Trace,
		}
	}
	return reflect.DeepEqual(of(one), of(other))
}
