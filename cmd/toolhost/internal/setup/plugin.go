package setup

import (
	"maps"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/plugin"
)

// Run is what a command decides about how plugins run.
type Run struct {
	// Once is for one piece of work: no process is ended because it is idle.
	Once bool
	// Lookup finds variables of the host's environment, as [os.LookupEnv] does.
	Lookup func(string) (string, bool)
}

// Settings returns the settings of the plugin of that name.
type Settings func(name string) plugin.Settings

// Apply replaces s with the settings of the plugin of that name. It is what
// [host.WithPluginSettings] takes.
func (of Settings) Apply(name string, s *plugin.Settings) { *s = of(name) }

// PluginSettings returns what the file says about plugins. It reads what variables refer
// to, for all plugins that are enabled.
//
// # Errors
//
// [*config.Error] with each reference that cannot be resolved. It contains no value.
func PluginSettings(c *config.Config, r Run) (Settings, error) {
	var problems []config.Problem
	problem := func(text string, at ...string) {
		if p := c.Problem(text, "", at...); !slices.Contains(problems, p) {
			problems = append(problems, p)
		}
	}
	settings := func(p config.Plugin, keys ...string) plugin.Settings {
		s := p.Settings
		if r.Once {
			s.IdleTimeout = 0
		}
		if !p.Enabled {
			return s
		}
		for _, v := range p.Environment {
			variable, err := v.Resolve(r.Lookup)
			if err == nil {
				s.Env = append(s.Env, variable)
				continue
			}
			at := append(slices.Clone(keys), "environment", v.Name)
			if !c.Has(at...) {
				at = []string{"defaults", "environment", v.Name}
			}
			problem(err.Error(), at...)
		}
		s.Config = c.References(p, func(v config.Variable, path []string) any {
			text, err := v.Text(r.Lookup)
			if err != nil {
				at := slices.Concat(keys, []string{"config"}, path)
				if !c.Has(at[:len(keys)+1]...) {
					at = slices.Concat([]string{"defaults", "config"}, path)
				}
				problem(err.Error(), at...)
			}
			return text
		})
		return s
	}
	others := settings(c.Defaults, "defaults")
	named := make(map[string]plugin.Settings, len(c.Plugins))
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		named[name] = settings(c.Plugins[name], "plugins", name)
	}
	if err := c.Problems(problems); err != nil {
		return nil, err
	}
	return func(name string) plugin.Settings {
		if s, ok := named[name]; ok {
			return s
		}
		return others
	}, nil
}
