package setup

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host/plugin"
)

// Run is what a command has to say on how plugins run.
type Run struct {
	// Once is for one piece of work: no process is ended for idleness before it is done.
	Once bool
	// Carrier is what calls travel on, whatever the file says; empty: what the file says.
	Carrier plugin.Carrier
	// Lookup finds variables of the host's environment, as [os.LookupEnv] does.
	Lookup func(string) (string, bool)
}

// Settings are what a host is told of plugins, by name.
type Settings func(name string) plugin.Settings

// PluginSettings are what the file says of plugins. What variables refer to is read
// now, for all plugins that may run.
//
// # Errors
//
// [*config.Error] with each reference that leads to nothing usable. No value is in it.
func PluginSettings(c *config.Config, r Run) (Settings, error) {
	var problems []config.Problem
	resolve := func(p config.Plugin, keys ...string) []string {
		env, bad := resolved(c, p.Environment, r.Lookup, keys)
		problems = append(problems, bad...)
		return env
	}
	others := settingsOf(c.Defaults, r)
	if c.Defaults.Enabled {
		others.Env = resolve(c.Defaults, "defaults")
	}
	named := make(map[string]plugin.Settings, len(c.Plugins))
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		s := settingsOf(p, r)
		if p.Enabled {
			s.Env = resolve(p, "plugins", name)
		}
		named[name] = s
	}
	if err := c.Problems(unique(problems)); err != nil {
		return nil, err
	}
	return func(name string) plugin.Settings {
		if s, ok := named[name]; ok {
			return s
		}
		return others
	}, nil
}

func settingsOf(p config.Plugin, r Run) plugin.Settings {
	s := p.Settings
	s.Carrier = cmp.Or(r.Carrier, s.Carrier)
	if r.Once {
		s.IdleTimeout = 0
	}
	return s
}

// Apply replaces what s says with the settings of the named plugin.
func (of Settings) Apply(name string, s *plugin.Settings) { *s = of(name) }

// resolved are variables as NAME=value, and those that lead to nothing, where the file
// has them: below the keys, or else in the defaults.
func resolved(c *config.Config, env config.Environment, lookup func(string) (string, bool), keys []string) (out []string, bad []config.Problem) {
	for _, v := range env {
		one, err := config.Environment{v}.Resolve(lookup)
		if err != nil {
			at := append(slices.Clone(keys), "environment", v.Name)
			if !c.Has(at...) {
				at = []string{"defaults", "environment", v.Name}
			}
			bad = append(bad, c.Problem(err.Error(), "", at...))
			continue
		}
		out = append(out, one...)
	}
	return out, bad
}

// unique are problems without those that several plugins have from the defaults.
func unique(all []config.Problem) []config.Problem {
	slices.SortStableFunc(all, func(a, b config.Problem) int { return strings.Compare(a.Key, b.Key) })
	return slices.Compact(all)
}
