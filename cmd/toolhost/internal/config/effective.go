package config

import (
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Default is what an empty file says.
func Default() *Config {
	nothing := &source{lines: []string{""}, hidden: []int{-1}}
	return &Config{
		LogLevel: "warn", Approvals: Approvals{Timeout: Duration(5 * time.Minute)}, Defaults: defaultPlugin(),
		src: func() *source { return nothing },
	}
}

func defaultPlugin() Plugin {
	return Plugin{
		Enabled: true, Carrier: "stream", Namespace: "auto", Previews: true,
		IdleTime: Duration(10 * time.Minute), StartTimeout: Duration(10 * time.Second), CallTimeout: Duration(time.Minute),
		MaxTimeout: Duration(10 * time.Minute),
		Limits:     Limits{Running: 256, Waiting: 1024, MaxResult: 64 << 20, MaxRetries: tool.MaxMaxRetries},
		Restart: Restart{
			Free: 3, Backoff: Duration(100 * time.Millisecond), MaxBackoff: Duration(10 * time.Second),
			Quarantine: 10, Cooldown: Duration(30 * time.Second), MaxCooldown: Duration(10 * time.Minute), Lasting: Duration(10 * time.Second),
		},
	}
}

// Plugin is how a plugin of that name is run: as the file says of it, else of all.
func (c *Config) Plugin(name string) Plugin {
	if p, ok := c.Plugins[name]; ok {
		return p
	}
	return c.Defaults
}

// Tool is what the file says of a tool, by the name that its plugin gives it.
func (c *Config) Tool(name string) Tool {
	t := c.Tools[name]
	if t.Approval == "" {
		t.Approval = ApprovalDefault
	}
	return t
}

// Caller is what the file says of a caller. One that is not named holds nothing, sees
// all tools, and is asked.
func (c *Config) Caller(name string) Caller {
	if caller, ok := c.Callers[name]; ok {
		return caller
	}
	return Caller{Approval: AnswerAsk}
}

// Sees reports whether a caller sees a tool, by the name and level that it has for
// callers. A level that is not set counts as dangerous.
func (c Caller) Sees(name string, safety tool.Safety) bool {
	v := c.Tools
	matches := func(pattern string) bool { return match(pattern, name) }
	return (v.MaxSafety == tool.Unset || safety.Effective() <= v.MaxSafety) &&
		(len(v.Allow) == 0 || slices.ContainsFunc(v.Allow, matches)) && !slices.ContainsFunc(v.Deny, matches)
}

// match compares a name with a pattern in which * stands for any characters. Each
// part between two stars is taken where it comes first, so that the work is bounded
// by the product of the lengths.
func match(pattern, name string) bool {
	parts := strings.Split(pattern, "*")
	if len(parts) == 1 {
		return pattern == name
	}
	first, last := parts[0], parts[len(parts)-1]
	if len(name) < len(first)+len(last) || !strings.HasPrefix(name, first) || !strings.HasSuffix(name, last) {
		return false
	}
	name = name[len(first) : len(name)-len(last)]
	for _, part := range parts[1 : len(parts)-1] {
		i := strings.Index(name, part)
		if i < 0 {
			return false
		}
		name = name[i+len(part):]
	}
	return true
}
