package pluginrun

import (
	"encoding/json"
	"reflect"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/setting"
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
