package session

import (
	"errors"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
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
