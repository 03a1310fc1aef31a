package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"slices"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/pins"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// checkLock compares the plugins with the lock. The lock applies meanwhile, so that nothing starts
// whose binary is not pinned.
func checkLock(ctx context.Context, s *session.Session, rules pins.Rules) error {
	if rules.Off {
		return exit.With(exit.Failed, fmt.Errorf("%s says lock: off, so nothing is pinned", sanitize.Text(s.Settings().Config.File)))
	}
	pinned, err := s.ReadLock(rules.File)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return exit.With(exit.Failed, fmt.Errorf("there is no %s: make it with toolhost plugins lock", sanitize.Text(rules.File)))
	case exit.Status(err) == exit.Refused:
		return err
	case err != nil:
		return exit.With(exit.Failed, err)
	}
	i, err := inspect(ctx, s, nil, session.Needs{})
	if err != nil {
		return err
	}
	found := i.found(pinned)
	report := lockReport{
		File: rules.File, Plugins: len(found.Plugins),
		Differences: append([]lockfile.Difference{}, lockfile.Compare(pinned, found)...), Failed: []unpinned{},
	}
	report.Differences = slices.DeleteFunc(report.Differences, func(d lockfile.Difference) bool {
		return pinned.Others && d.Kind == lockfile.Added
	})
	switch {
	case len(report.Differences) > 0:
		return report.print(s, "", exit.With(exit.Failed, &tool.Error{
			Message: "the plugins are not as " + pins.LockName + " pins them", Hint: "if this is what you want to run, toolhost plugins lock",
		}))
	case i.unread:
		return report.print(s, "", exit.With(exit.Failed, errors.New("some plugin directories could not be read")))
	}
	return report.print(s, "%s %s as pinned in %s\n", nil)
}
