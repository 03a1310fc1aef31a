package doctor

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// checkConfiguration reads the configuration file, and what it refers to.
func checkConfiguration(_ context.Context, p *patient) {
	if p.invalid != nil {
		const hint = "mend the file: toolhost config check shows the lines"
		var all *config.Error
		if !errors.As(p.invalid, &all) {
			p.error(p.invalid, hint)
			return
		}
		for _, one := range all.Problems {
			p.failed(one.String(), hint)
		}
		return
	}
	path, _, err := p.session.Flags.ConfigPath()
	switch {
	case err != nil:
		p.error(err, "")
	case p.settings.Config.File == "" && paths.Exists(path):
		p.warning(path+" is not trusted as it is, so the defaults hold", "look at it, and: toolhost trust; or name it with --config")
	case p.settings.Config.File == "":
		p.ok("there is no configuration file, so the defaults hold")
	default:
		p.ok(p.settings.Config.File)
	}
}

// checkReferences looks for what the configuration refers to.
func checkReferences(_ context.Context, p *patient) {
	if _, err := p.settings.Load(); p.invalid == nil && err != nil {
		p.error(err, "see toolhost config check")
	}
}

// checkNames looks for names that are those of no plugin and no tool, as far as these are remembered: no
// plugin is started. A daemon that runs says it itself.
func checkNames(_ context.Context, p *patient) {
	c := p.settings.Config
	book, err := known.OpenOwn()
	if err != nil || p.invalid != nil || p.running != nil || c.File == "" {
		return // a book that cannot be read is a finding of the state
	}
	var plugins []plugin.Status
	seen := map[string]string{}
	for _, dir := range p.settings.Dirs.Watched() {
		all, _, _ := pluginrun.Discover(dir) // an error is a finding of the directory
		for _, one := range all {
			names := book.Of(known.At(one.Path, one.Name)).Names
			for _, name := range names {
				seen[name] = cmp.Or(c.Tools[name].Name, name)
			}
			plugins = append(plugins, plugin.Status{Name: one.Name, State: plugin.Idle, Tools: len(names)})
		}
	}
	if set, err := p.settings.Servers(); err == nil {
		for _, s := range set.All {
			plugins = append(plugins, plugin.Status{Name: s.Name, State: plugin.Idle})
		}
	}
	for _, one := range session.Unmatched(c, plugins, maps.All(seen)) {
		p.failed(one.String(), "correct it: what it says has no effect")
	}
}

// checkApprovers looks for questions that no one would be asked, as there is no daemon.
func checkApprovers(_ context.Context, p *patient) {
	if p.running != nil {
		return
	}
	queued := func(ask []config.Asker) bool { return slices.Contains(ask, config.AskQueue) }
	c := p.settings.Config
	asks := queued(c.Approvals.Ask)
	for _, one := range c.Callers {
		asks = asks || queued(one.Ask)
	}
	for _, one := range c.Tools {
		asks = asks || queued(one.Ask)
	}
	if asks {
		p.warning("questions are to wait in a daemon's queue (ask: queue), and none is running, so such calls are refused",
			"start one: toolhost serve --detach")
	}
}

// checkLock reads the locks that plugins have to agree with.
func checkLock(_ context.Context, p *patient) {
	rules, err := p.session.LockRules(p.settings)
	if err != nil {
		p.error(err, "")
		return
	}
	for _, l := range rules.Locks {
		lock, err := p.session.ReadLock(l.File)
		switch {
		case errors.Is(err, fs.ErrNotExist) && l.Required:
			p.failed("the lock "+l.File+" is required and does not exist, so nothing runs",
				"restore it, or write it again with toolhost plugins lock")
		case errors.Is(err, fs.ErrNotExist):
		case exit.Status(err) == exit.Refused:
			p.error(err, "")
		case err != nil:
			p.error(err, "restore it, or write it again with toolhost plugins lock")
		default:
			p.ok(fmt.Sprintf("%s pins %s (toolhost plugins lock --check compares them)", l.File, count(len(lock.Plugins), "plugin")))
		}
	}
	switch {
	case rules.Off:
		p.ok("the configuration says lock: off")
	case len(rules.Locks) == 0 && paths.Exists(rules.Own):
		p.warning(rules.Own+" is not trusted as it is, so nothing is pinned", "look at it, and: toolhost trust")
	case len(rules.Locks) == 0:
		p.ok("nothing is pinned")
	}
}
