// Package setup turns a configuration file into what a host takes: options, settings of
// plugins, and callers. Start with [Load], which also refuses what no host can do.
//
// Nothing here starts, opens or changes anything, except that [PluginSettings] reads what
// variables of environments refer to.
package setup

import (
	"maps"
	"reflect"
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
		caller := c.Callers[name]
		if name == CLI && caller.UID != nil {
			hint := "remove it, or give that user another name"
			out = append(out, c.Problem(CLI+" is the user who runs the daemon or the command, whoever that is", hint, "callers", name, "uid"))
		}
		if name == CLI && caller.Subject != "" {
			hint := "remove it, or give that subject another name"
			out = append(out, c.Problem(CLI+" is the user who runs the daemon or the command, and comes with no token", hint, "callers", name, "subject"))
		}
		if name != CLI && caller.Subject != "" && c.MCP.OIDC.Issuer == "" {
			hint := "name the issuer under mcp.oidc, or remove it"
			out = append(out, c.Problem("it has no effect without an issuer", hint, "callers", name, "subject"))
		}
	}
	return c.Problems(out)
}

// Options returns options of a host. The root, the cache and the audit log are left to the
// command, because flags take precedence over the file.
func Options(c *config.Config) []host.Option {
	return []host.Option{
		host.WithAuditRequired(c.Audit.Required), host.WithOverrides(c.Overrides()), host.WithTrust(Trust(c)),
	}
}

// Trust returns whose plugins the file lets run.
func Trust(c *config.Config) host.Trust {
	return host.Trust{Required: c.Trust.Required, Publishers: c.Trust.Publishers}
}

// Fixed returns the keys of settings in which two configurations differ and that a running
// host cannot change.
func Fixed(before, after *config.Config) []string {
	fixed := slices.DeleteFunc(config.Diff(before, after).Host, func(key string) bool {
		return slices.Contains([]string{"log_level", "hold_new", "trust", "approvals", "sessions", "mcp", "nats"}, key)
	})
	a, b, m, n := before.MCP, after.MCP, before.NATS, after.NATS
	for key, differs := range map[string]bool{
		"mcp.listen": a.Listen != b.Listen, "mcp.tls": a.TLS != b.TLS, "mcp.limits": a.Limits != b.Limits,
		"mcp.tasks.ttl": a.Tasks.TTL != b.Tasks.TTL, "mcp.tasks.max": a.Tasks.Max != b.Tasks.Max,
		"nats.url": m.URL != n.URL, "nats.embedded": !reflect.DeepEqual(m.Embedded, n.Embedded), "nats.credentials": m.Credentials != n.Credentials,
		"nats.tls": m.TLS != n.TLS, "nats.key": m.Key != n.Key, "nats.name": m.Name != n.Name, "nats.store": m.Store != n.Store,
	} {
		if differs {
			fixed = append(fixed, key)
		}
	}
	slices.Sort(fixed)
	return fixed
}
