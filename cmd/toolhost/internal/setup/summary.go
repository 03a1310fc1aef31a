package setup

import (
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Summary returns what a file grants, a line each, for people who decide whether to trust
// it: what runs, with what, and what needs no approval. The last line names what else it
// sets. Values of environments are left out.
func Summary(c *config.Config) []string {
	var out []string
	add := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	for _, dir := range c.PluginDirs {
		add("runs the plugins in %s", dir)
	}
	for _, path := range []struct{ what, path string }{
		{"the workspace of the plugins", c.Root}, {"the daemon's socket", c.Socket},
		{"the cache", c.CacheDir}, {"the directory to which plugins are installed", c.InstallDir}, {"the log of calls", c.Audit.Path},
	} {
		if path.path != "" {
			add("%s is %s", path.what, path.path)
		}
	}
	if c.Trust.Required {
		add("runs only plugins that a publisher of trust has signed")
	}
	for _, name := range slices.Sorted(maps.Keys(c.Trust.Publishers)) {
		p := c.Trust.Publishers[name]
		add("trusts the publisher %s (%s) for the plugins %s", name, strings.Join(p.Keys, ", "), strings.Join(p.Plugins, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Callers)) {
		caller := c.Callers[name]
		if caller.UID != nil {
			add("lets the user %d use the daemon, as the caller %s", *caller.UID, name)
		}
		if caller.Subject != "" {
			add("takes %q of the issuer %s for the caller %s", caller.Subject, c.MCP.OIDC.Issuer, name)
		}
		if len(caller.Grants) > 0 {
			add("grants the caller %s: %s", name, joined(caller.Grants))
		}
		if caller.Approval == config.AnswerYes {
			add("says yes to every call of %s that would be asked about", name)
		}
	}
	if len(c.MCP.Origins) > 0 {
		add("lets pages of %s use toolhost serve --mcp http, with a token", strings.Join(c.MCP.Origins, ", "))
	}
	for _, name := range slices.Sorted(maps.Keys(c.Tools)) {
		out = append(out, loosened(name, c.Tools[name].Override)...)
	}
	out = append(out, given(c, "plugins", c.Defaults)...)
	out = append(out, allowed("plugins", c.Defaults.Sandbox, plugin.Sandbox{})...)
	for _, name := range slices.Sorted(maps.Keys(c.Plugins)) {
		p := c.Plugins[name]
		if p.Environment.Equal(c.Defaults.Environment) {
			p.Environment = nil // it is said
		}
		out = append(out, given(c, "plugin "+name, p)...)
		out = append(out, allowed("plugin "+name, p.Sandbox, c.Defaults.Sandbox)...)
	}
	for _, name := range slices.Sorted(maps.Keys(c.Servers)) {
		out = append(out, SummaryOfServer(name, c.Servers[name])...)
	}
	if rest := Changes(withoutEnvironment(config.Default()), withoutEnvironment(c)); len(rest) > 0 {
		add("sets: %s", strings.Join(rest, "; "))
	}
	if len(out) == 0 {
		add("sets nothing: the defaults hold")
	}
	return out
}

// loosened returns what lets a tool be called more easily.
func loosened(name string, t host.Override) []string {
	var out []string
	if t.Approval == policy.AllowAll {
		out = append(out, "says yes to every call of "+name)
	}
	if t.Safety != tool.Unset && t.Safety < tool.Dangerous {
		out = append(out, fmt.Sprintf("takes %s for %s", name, t.Safety))
	}
	if t.Permission != nil && *t.Permission == "" {
		out = append(out, "lets callers use "+name+" without a permission")
	}
	return out
}

// given returns what plugins are started with.
func given(c *config.Config, who string, p config.Plugin) []string {
	var out []string
	c.References(p, func(v config.Variable, keys []string) any {
		what := "your variable " + v.FromEnv
		if v.FromFile != "" {
			what = "what is in " + v.FromFile
		}
		out = append(out, fmt.Sprintf("gives %s %s, as config.%s", who, what, strings.Join(keys, ".")))
		return nil
	})
	slices.Sort(out)
	if len(p.Args) > 0 {
		out = append(out, fmt.Sprintf("gives %s the arguments %q", who, p.Args))
	}
	for _, v := range p.Environment {
		switch {
		case v.FromEnv != "":
			out = append(out, fmt.Sprintf("gives %s your variable %s, as %s", who, v.FromEnv, v.Name))
		case v.FromFile != "":
			out = append(out, fmt.Sprintf("gives %s what is in %s, as %s", who, v.FromFile, v.Name))
		default:
			out = append(out, fmt.Sprintf("gives %s a value of %s", who, v.Name))
		}
	}
	if p.Namespace == plugin.NamespaceOff {
		out = append(out, "runs "+who+" without a PID namespace")
	}
	return out
}

// SummaryOfServer returns what an MCP server is started or asked with, a line each.
func SummaryOfServer(name string, s config.Server) []string {
	who := "the MCP server " + name
	var out []string
	switch {
	case s.URL != "":
		out = append(out, fmt.Sprintf("mounts %s at %s", who, s.URL.Shown()))
	case s.Command != "":
		out = append(out, fmt.Sprintf("mounts %s, for which it runs %q", who, append([]string{s.Command}, s.Args.Shown()...)))
	}
	if s.EnvFile != "" {
		out = append(out, fmt.Sprintf("gives %s what is in %s", who, s.EnvFile))
	}
	out = append(out, given(nil, who, config.Plugin{Settings: s.Settings, Environment: s.Env})...)
	if s.URL == "" {
		out = append(out, allowed(who, s.Sandbox, plugin.Sandbox{})...)
	}
	for _, v := range s.Headers {
		out = append(out, fmt.Sprintf("sends %s a header %s", who, v.Name))
	}
	if !s.OAuth.ClientSecret.IsZero() {
		out = append(out, fmt.Sprintf("logs in to %s with the secret of the client %s", who, s.OAuth.ClientID))
	}
	return out
}

// withoutEnvironment returns a configuration that refers to nothing.
func withoutEnvironment(c *config.Config) Loaded {
	out := *c
	out.Defaults.Environment = nil
	out.Servers = nil // they are said
	out.Plugins = maps.Clone(c.Plugins)
	for name, p := range out.Plugins {
		p.Environment = nil
		out.Plugins[name] = p
	}
	return Loaded{Config: &out, Plugins: func(name string) plugin.Settings { return out.Plugin(name).Settings }}
}

func joined(grants []tool.Capability) string {
	words := make([]string, len(grants))
	for i, g := range grants {
		words[i] = string(g)
	}
	return strings.Join(words, ", ")
}
