// Package setup turns a configuration file into what a host takes: options, settings of
// plugins, and callers. Start with [Load], which also refuses what no host can do.
//
// Nothing here starts, opens or changes anything, except that [PluginSettings] reads what
// variables of environments refer to.
package setup

import (
	"maps"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
)

// Load reads a file and checks that everything in it can be done.
//
// # Errors
//
// Those of [config.Load], and [*config.Error] for settings that have no effect in this
// version. With the latter, the configuration is returned too.
func Load(path string) (*config.Config, error) {
	c, err := config.Load(path)
	if err != nil {
		return nil, err
	}
	return c, Check(c)
}

// Check finds settings that would have no effect in this version. An operator would
// believe that they have one.
//
// # Errors
//
// [*config.Error] with all of them.
func Check(c *config.Config) error {
	var out []config.Problem
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		switch known := c.Callers[name].UID != nil; {
		case name == CLI && known:
			hint := "remove it, or give that user another name"
			out = append(out, c.Problem(CLI+" is the user who runs the daemon or the command, whoever that is", hint, "callers", name, "uid"))
		case name != CLI && !known:
			hint := "say which user it is, with uid; the user who runs the daemon or the command is " + CLI
			out = append(out, c.Problem("nothing says who this caller is", hint, "callers", name))
		}
	}
	return c.Problems(out)
}

// Options returns options of a host. The root, the cache and the audit log are left to the
// command, because flags take precedence over the file.
func Options(c *config.Config) []host.Option {
	return []host.Option{host.WithAuditRequired(c.Audit.Required), host.WithOverrides(c.Tools)}
}

// Fixed returns the keys of settings in which two configurations differ and that a running
// host cannot change.
func Fixed(before, after *config.Config) []string {
	return slices.DeleteFunc(config.Diff(before, after).Host, func(key string) bool {
		return slices.Contains([]string{"log_level", "hold_new", "approvals", "sessions"}, key)
	})
}
