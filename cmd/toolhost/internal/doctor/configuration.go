package doctor

import (
	"context"
	"errors"
	"fmt"
	"io/fs"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
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
	if _, err := p.settings.Load(); err != nil {
		p.error(err, "see toolhost config check")
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
