package pluginrun

import (
	"errors"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Enforced is which lines of a plugin's sandbox were enforced in full at its starts on this system,
// and what was wanted then. A start that enforces less is refused.
type Enforced = sandbox.Enforced

// lessError is the error of a start that would enforce less than earlier ones. That is not a failure of
// the plugin.
type lessError struct {
	plugin string
	less   []plugin.EnforcesLess
}

func (e *lessError) Error() string {
	var lines []string
	for _, l := range e.less {
		lines = append(lines, l.String())
	}
	return "its sandbox would be less than it was at earlier starts here: " + strings.Join(lines, "; ")
}

func (e *lessError) Is(err error) bool { return err == errPinned }

func (e *lessError) asError() error {
	return unavailable(e.plugin, e, fmt.Sprintf("plugin %s did not start: %s", e.plugin, sanitize.Line(e.Error(), 2000)),
		"mend what is missing, or accept it: "+remedy.AcceptLess.For(e.plugin))
}

// less returns by what a start that enforces this falls below earlier ones.
func (c Config) less(report sandbox.Report) []plugin.EnforcesLess {
	if c.Enforced == nil {
		return nil
	}
	return c.Enforced().Falls(c.given(), report)
}

// judge refuses a start that enforces too little.
func (c Config) judge(name string, report sandbox.Report) error {
	if open := report.Open(); c.Sandbox.Level == plugin.Strict && len(open) > 0 {
		return strictFailure(name, open)
	}
	if less := c.less(report); len(less) > 0 {
		return &lessError{name, less}
	}
	return nil
}

// startEvent is the event that a failed start is.
func startEvent(err error) string {
	if less := new(lessError); errors.As(err, &less) {
		return journal.EnforcesLess
	}
	if errors.Is(err, errPinned) {
		return journal.Refused
	}
	return journal.StartFailed
}

// Raised returns what is enforced by the process that runs now, and what was before if it wants no more;
// nil: none runs, or it has no sandbox.
func (p *Plugin) Raised(before *Enforced) *Enforced {
	run := p.runs.current.Load()
	if run == nil || run.proc.cmd.judge == nil || run.proc.cmd.plan == nil {
		return nil
	}
	return before.Raised(run.proc.cmd.wanted, run.proc.cmd.plan.Report)
}

// advice says what of a sandbox is open, and which key closes it; empty: nothing is.
func advice(s plugin.SandboxStatus, plugin, kind string) string {
	key := "plugins." + plugin + ".sandbox"
	if kind == KindMCP {
		key = "mcp_servers." + plugin + ".sandbox"
	}
	var open, left, parts []string
	for _, l := range s.Lines {
		switch {
		case l.Open != "":
			open = append(open, l.Name+": "+l.Open)
		case s.Undeclared && l.Given == tool.Any:
			left = append(left, l.Name)
		}
	}
	if len(left) > 0 {
		parts = append(parts, strings.Join(left, ", ")+" are left to it, as it declares no needs; "+key+" closes them")
	}
	if len(open) > 0 {
		parts = append(parts, fmt.Sprintf("this system does not enforce %s; with %s.level: strict it does not run like that",
			strings.Join(open, "; "), key))
	}
	return strings.Join(parts, "; ")
}
