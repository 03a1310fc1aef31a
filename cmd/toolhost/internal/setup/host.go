package setup

import (
	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
)

// Options are what a host is made with. The root, the cache and the record of calls
// are the command's to choose, as flags go before the file.
func Options(c *config.Config) []host.Option {
	return []host.Option{host.WithAuditRequired(c.Audit.Required), host.WithOverrides(c.Tools)}
}

// Fixed are the settings, by their keys, in which two configurations differ and that a
// running host cannot change.
func Fixed(before, after *config.Config) []string {
	var out []string
	for _, key := range config.Diff(before, after).Host {
		if key != "log_level" && key != "hold_new" && key != "approvals" {
			out = append(out, key)
		}
	}
	return out
}
