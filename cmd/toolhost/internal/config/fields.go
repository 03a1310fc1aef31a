package config

import (
	"strings"
	"time"
)

// maxTime bounds times, but for those that can be never.
const maxTime = 24 * time.Hour

// These are the keys of the file, each with where it goes and what it may be. The
// JSON Schema says the same; a test compares them.

func (c *Config) fields() fields {
	return fields{
		"plugin_dirs": listOf(&c.PluginDirs, filePath),
		"root":        filePath(&c.Root),
		"cache_dir":   filePath(&c.CacheDir),
		"socket":      filePath(&c.Socket),
		"lock":        pathOr(&c.Lock, LockRequired, LockOff),
		"hold_new":    flag(&c.HoldNew),
		"log_level":   oneOf(&c.LogLevel, "trace", "debug", "info", "warn", "error", "off"),
		"audit":       c.Audit.fields().decode,
		"approvals":   c.Approvals.fields().decode,
		"defaults":    c.Defaults.shared().decode,
		"plugins":     each(pluginName, c.plugin),
		"tools":       each(toolName, c.tool),
		"callers":     each(callerName, c.caller),
	}
}

func (a *Audit) fields() fields {
	return fields{
		"path":     pathOr(&a.Path, AuditOff),
		"required": level(&a.Required, "none"),
	}
}

func (a *Approvals) fields() fields {
	return fields{"timeout": duration(&a.Timeout, time.Second, maxTime, false)}
}

// shared are the settings that the defaults have too.
func (p *Plugin) shared() fields {
	return fields{
		"enabled":       flag(&p.Enabled),
		"environment":   environment(&p.Environment),
		"carrier":       oneOf(&p.Carrier, "stream", "socket", "unary"),
		"namespace":     oneOf(&p.Namespace, "auto", "on", "off"),
		"previews":      flag(&p.Previews),
		"idle_time":     duration(&p.IdleTime, time.Second, 365*maxTime, true),
		"start_timeout": duration(&p.StartTimeout, 100*time.Millisecond, 10*time.Minute, false),
		"call_timeout":  duration(&p.CallTimeout, time.Millisecond, maxTime, true),
		"max_timeout":   duration(&p.MaxTimeout, time.Millisecond, maxTime, true),
		"limits":        p.Limits.fields().decode,
		"restart":       p.Restart.fields().decode,
	}
}

func (p *Plugin) fields() fields {
	fs := p.shared()
	fs["arguments"] = listOf(&p.Arguments, plainText)
	fs["config"] = pluginConfig(&p.Config)
	return fs
}

func (l *Limits) fields() fields {
	endless := 0
	return fields{
		"running":     integer(&l.Running, 1, 1<<16, &endless),
		"waiting":     integer(&l.Waiting, 0, 1<<20, nil),
		"max_result":  size(&l.MaxResult, 1<<10, 1<<30),
		"max_retries": integer(&l.MaxRetries, 0, 10, nil),
	}
}

func (r *Restart) fields() fields {
	endless := Unlimited
	pause := func(to *Duration) field { return duration(to, time.Millisecond, maxTime, false) }
	return fields{
		"free":         integer(&r.Free, 1, 1000, &endless),
		"backoff":      pause(&r.Backoff),
		"max_backoff":  pause(&r.MaxBackoff),
		"quarantine":   integer(&r.Quarantine, 2, 1001, nil),
		"cooldown":     pause(&r.Cooldown),
		"max_cooldown": pause(&r.MaxCooldown),
		"lasting":      pause(&r.Lasting),
	}
}

func (t *Tool) fields() fields {
	return fields{
		"disable":    flag(&t.Disable),
		"rename":     newName(&t.Rename),
		"safety":     level(&t.Safety, ""),
		"idempotent": optional(&t.Idempotent, flag),
		"approval":   oneOf(&t.Approval, ApprovalDefault, ApprovalAsk, ApprovalAllow, ApprovalDeny),
		"rate":       optional(&t.Rate, rate),
		"timeout":    duration(&t.Timeout, time.Millisecond, maxTime, false),
		"retries":    optional(&t.Retries, func(to *int) field { return integer(to, 0, 10, nil) }),
		"permission": optional(&t.Permission, grantOrNone),
	}
}

func (c *Caller) fields() fields {
	return fields{
		"grants":       listOf(&c.Grants, grant),
		"tools":        c.Tools.fields().decode,
		"approval":     oneOf(&c.Approval, AnswerAsk, AnswerYes, AnswerNo),
		"result_limit": integer(&c.ResultLimit, 0, 1<<30, nil),
	}
}

func (v *Visible) fields() fields {
	return fields{
		"allow":      someOf(&v.Allow, toolPattern),
		"deny":       listOf(&v.Deny, toolPattern),
		"max_safety": level(&v.MaxSafety, ""),
	}
}

// plugin reads a plugin's settings over the defaults, which are read before.
func (c *Config) plugin(name string) field {
	return func(d *decoder, key string, n *node) {
		p := c.Defaults
		p.fields().decode(d, key, n)
		if c.Plugins == nil {
			c.Plugins = map[string]Plugin{}
		}
		c.Plugins[name] = p
	}
}

func (c *Config) tool(name string) field {
	return func(d *decoder, key string, n *node) {
		t := Tool{Approval: ApprovalDefault}
		t.fields().decode(d, key, n)
		if c.Tools == nil {
			c.Tools = map[string]Tool{}
		}
		c.Tools[name] = t
	}
}

func (c *Config) caller(name string) field {
	return func(d *decoder, key string, n *node) {
		caller := Caller{Approval: AnswerAsk}
		caller.fields().decode(d, key, n)
		if c.Callers == nil {
			c.Callers = map[string]Caller{}
		}
		c.Callers[name] = caller
	}
}

// spells reports whether s has 1 to most letters, digits and characters of also.
func spells(s string, most int, also string) bool {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
	return s != "" && len(s) <= most && strings.Trim(s, plain+also) == ""
}

func pluginName(name string) string {
	if !spells(name, 64, "_.-") || strings.ContainsAny(name[:1], "_.-") {
		return "a plugin's name has 1 to 64 letters, digits, _, . and -, and begins with a letter or digit"
	}
	return ""
}

func toolName(name string) string {
	if !spells(name, 128, "_.-") {
		return "a tool's name has 1 to 128 letters, digits, _, . and -"
	}
	return ""
}

func callerName(name string) string {
	if !spells(name, 64, "_.-") {
		return "a caller's name has 1 to 64 letters, digits, _, . and -, such as cli or mcp"
	}
	return ""
}

func variableName(name string) string {
	switch {
	case !spells(name, 128, "_") || strings.ContainsAny(name[:1], "0123456789"):
		return "a variable's name has 1 to 128 letters, digits and _, and does not begin with a digit"
	case name == "TOOLHOST_PLUGIN" || strings.HasPrefix(name, "PLUGIN_"):
		return "the names TOOLHOST_PLUGIN and PLUGIN_... belong to the handshake between host and plugin"
	}
	return ""
}

func newName(to *string) field {
	return scalar("a tool's name", func(d *decoder, key string, n *node) {
		if hint := toolName(n.text); hint != "" {
			d.add(n.at, key, hint, "`%s` is no tool name", shown(n.text))
			return
		}
		*to = n.text
	})
}

func toolPattern(to *string) field {
	return scalar("a tool's name or a pattern such as fs.*", func(d *decoder, key string, n *node) {
		if !spells(n.text, 128, "_.-*") {
			d.add(n.at, key, "use 1 to 128 letters, digits, _, ., - and *, which stands for any characters", "`%s` fits no tool name", shown(n.text))
			return
		}
		*to = n.text
	})
}
