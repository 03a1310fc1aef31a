package doctor

import (
	"context"
	"fmt"
	"os/exec"
	"path/filepath"
)

// checkServers examines the MCP servers, none of which is started: what they refer to, and
// whether their programs are there. What they did in a daemon is a finding of the check of that.
func checkServers(_ context.Context, p *patient) {
	set, err := p.settings.Servers()
	if err != nil {
		p.error(err, "")
		return
	}
	for _, text := range set.Warnings {
		p.warning(text, "")
	}
	usable := 0
	for _, s := range set.All {
		switch {
		case s.Err != nil:
			p.failed(fmt.Sprintf("the MCP server %s cannot be used: %v", s.Name, s.Err), "mend "+s.From)
		case !s.Server.Enabled || s.Disabled:
			p.ok("the MCP server " + s.Name + " is disabled")
		case s.Target.Command != "" && missing(s.Target.Command):
			p.failed(fmt.Sprintf("the MCP server %s does not start: there is no program %s", s.Name, s.Target.Command),
				"install it, or mend "+s.From)
		default:
			usable++
		}
	}
	if usable > 0 || len(set.All) == 0 {
		p.ok(fmt.Sprintf("%s that can be started", count(usable, "server")))
	}
}

// missing reports whether a program is not there: a path, or a name to look for in PATH.
func missing(program string) bool {
	_, err := exec.LookPath(program)
	return err != nil && (filepath.IsAbs(program) || filepath.Base(program) == program)
}
