package session

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Faults takes joined errors apart.
func Faults(err error) []*tool.Error {
	if err == nil {
		return nil
	}
	// Only the outermost is taken apart: a tool's error may have joined causes.
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []*tool.Error{tool.AsError(err)}
	}
	var out []*tool.Error
	for _, e := range joined.Unwrap() {
		out = append(out, Faults(e)...)
	}
	return out
}

// ConfigProblem returns a fault of a plugin or tool as a problem of the configuration, with
// the line that configures it.
func ConfigProblem(c *config.Config, fault *tool.Error) config.Problem {
	text := output.Message(fault)
	for name, t := range c.Tools {
		if fault.Tool != "" && (t.Name == fault.Tool || t.Name == "" && name == fault.Tool) {
			return c.Problem(text, fault.Advice(), "tools", name)
		}
	}
	if fault.Plugin == "" {
		return c.Problem(text, fault.Advice())
	}
	if bad := new(pluginrun.ConfigurationError); errors.As(fault.Err, &bad) {
		keys := append([]string{"plugins", fault.Plugin, "config"}, strings.Split(bad.Setting, ".")...)
		if bad.Setting == "" {
			keys = keys[:3]
		}
		return c.Problem(text, fault.Advice(), keys...)
	}
	return c.Problem(text, fault.Advice(), "plugins", fault.Plugin)
}

// WarnOf warns of faults, but not of those of the plugin that the command shows itself (empty:
// none). Tools whose names others have are one line for each two plugins, not one for each
// tool.
func (s *Session) WarnOf(faults []*tool.Error, plugins []plugin.Status, shown string) {
	mayTell := func(owner string) bool { return shown == "" || owner != shown }
	for _, fault := range faults {
		if mayTell(fault.Plugin) && !IsLost(fault, plugins) && !s.unread.told(fault) {
			s.Warn(oneLine(fault))
		}
	}
	for _, p := range plugins {
		if !mayTell(p.Name) {
			continue
		}
		tools := slices.DeleteFunc(slices.Clone(p.Lost), func(l plugin.LostName) bool { return l.Kind != "" })
		for _, line := range pluginrun.LostLines(p.Name, tools) {
			line += "; see toolhost plugins show " + p.Name
			s.Warn(tool.Errorf(tool.CodeAlreadyExists, "%s", line).Of("", p.Name))
		}
	}
}

// oneLine returns the fault of a plugin that does not run with its hint in the line of its message: each
// command warns of it.
func oneLine(fault *tool.Error) *tool.Error {
	if fault.Plugin == "" || fault.Tool != "" || fault.Advice() == "" {
		return fault
	}
	out := *fault
	out.Message, out.Hint, out.OperatorHint, out.RetryAfter = output.Message(fault)+" ("+fault.Advice()+")", "", "", 0
	return &out
}

// IsLost reports whether a fault is about a tool whose name another has, which the status of
// its plugin says too.
func IsLost(fault *tool.Error, plugins []plugin.Status) bool {
	p, ok := Status(plugins, fault.Plugin)
	return ok && fault.Code == tool.CodeAlreadyExists &&
		slices.ContainsFunc(p.Lost, func(l plugin.LostName) bool { return l.Tool == fault.Tool })
}
