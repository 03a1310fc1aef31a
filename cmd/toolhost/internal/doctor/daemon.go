package doctor

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// checkDaemon looks at what the daemon, if there is one, says of itself and its plugins.
func checkDaemon(_ context.Context, p *patient) {
	switch {
	case p.socket == "":
		return
	case errors.Is(p.noDaemon, control.ErrNoDaemon):
		p.ok("none is running on " + p.socket)
		return
	case p.running == nil:
		p.error(p.noDaemon, "end it, and start toolhost serve again")
		return
	}
	state := *p.running
	what := fmt.Sprintf("the daemon (pid %d)", state.PID)
	switch why := p.session.Unlike(state, ""); {
	case p.invalid != nil:
		p.warning(what+" runs, and commands cannot tell whether it is theirs", "mend the configuration")
	case why != "":
		p.warning(what+" runs, and this directory's commands do not use it: "+why,
			"run them with its --root, --config and --plugin-dir, or toolhost reload")
	}
	if state.Starting {
		p.warning(what+" is starting, and not all plugins are there yet", "see toolhost status")
	}
	if n := state.Approvals; n > 0 {
		p.warning(count(n, "question")+" in the daemon's queue for your answer", "see toolhost approvals")
	}
	told := map[string]bool{}
	for _, f := range state.Faults {
		told[f.Plugin] = true
		p.error(f, "see its log")
	}
	for _, s := range state.Plugins {
		for _, t := range s.Changed {
			p.warning(fmt.Sprintf("plugin %s has changed, and is dangerous and no longer %s: %s", s.Name, t.Level, t.Text),
				"look at it, and: toolhost plugins enable "+s.Name)
		}
		for _, line := range pluginrun.LostLines(s.Name, s.Lost) {
			p.warning(line, "see toolhost plugins show "+s.Name)
		}
		if s.Upgrade != "" {
			p.failed(fmt.Sprintf("plugin %s was not upgraded, and runs on as it was: %s", s.Name, s.Upgrade), "see toolhost plugins show "+s.Name)
		}
		switch s.State {
		case plugin.Refused, plugin.Backoff, plugin.Quarantined:
			if !told[s.Name] {
				p.failed(fmt.Sprintf("plugin %s is %s: %s", s.Name, s.State, s.Reason), "see toolhost plugins show "+s.Name)
			}
		}
	}
	p.ok(fmt.Sprintf("%s serves %s of %s on %s", what, count(state.Tools, "tool"), count(len(state.Plugins), "plugin"), p.socket))
}
