package setup

import (
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Overrides are what the file says of tools, by the names that their plugins give them.
func Overrides(c *config.Config) map[string]host.Override {
	out := make(map[string]host.Override, len(c.Tools))
	for name := range c.Tools {
		out[name] = override(c.Tool(name))
	}
	return out
}

var rules = map[config.Approval]policy.Rule{
	config.ApprovalDefault: policy.BySafety, config.ApprovalAsk: policy.Ask, config.ApprovalAllow: policy.AllowAll, config.ApprovalDeny: policy.DenyAll,
}

func override(t config.Tool) host.Override {
	o := host.Override{
		Disabled: t.Disable, Name: t.Rename, Safety: t.Safety, Approval: rules[t.Approval],
		Idempotent: t.Idempotent, MaxRetries: t.Retries, Timeout: time.Duration(t.Timeout),
		Permission: t.Permission,
	}
	if t.Rate != nil {
		o.RateLimit = &tool.RateLimit{Calls: t.Rate.Calls, Period: tool.Duration(t.Rate.Period)}
	}
	return o
}
