package pluginrun

import (
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/need"
)

// Undecided returns those of the differences between declarations that the operator has left
// to what the plugin declares: of lines that the sandbox has itself, nothing is to be accepted.
func Undecided(s plugin.Sandbox, all need.Diff) need.Diff {
	if s.Level == plugin.NoSandbox {
		return nil
	}
	decided := map[string]bool{"": true}
	for _, l := range grant.Lines {
		decided[l.Name] = l.IsSaid(&s)
		decided[""] = decided[""] && (decided[l.Name] || grant.IsAmount(l.Name))
	}
	var out need.Diff
	for _, c := range all {
		if !decided[c.Line] {
			out = append(out, c)
		}
	}
	return out
}
