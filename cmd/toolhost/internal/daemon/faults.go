package daemon

import (
	"errors"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// faultList says why plugins, tools and directories of a daemon cannot be used.
type faultList struct {
	mu  sync.Mutex
	all []*tool.Error
}

func (l *faultList) add(all []*tool.Error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = append(slices.Clone(l.all), all...)
}

// replace adds the faults of err, in place of those that outdated selects and of earlier faults
// of the same plugin and tool.
func (l *faultList) replace(outdated func(*tool.Error) bool, err error) {
	added := session.Faults(err)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(slices.Clone(l.all), func(known *tool.Error) bool {
		return outdated(known) || slices.ContainsFunc(added, func(e *tool.Error) bool { return sameSubject(e, known) })
	})
	l.all = append(l.all, added...)
}

// current returns the faults that still exist in a host: a plugin that was refused may serve by
// now, and a tool may have got its name. Those of directories are added as of the last look.
func (l *faultList) current(h *host.Host) []*tool.Error {
	plugins := h.Plugins()
	l.mu.Lock()
	defer l.mu.Unlock()
	l.all = slices.DeleteFunc(slices.Clone(l.all), func(e *tool.Error) bool {
		s, loaded := session.Status(plugins, e.Plugin)
		switch {
		case e.Plugin == "": // the fault of a directory
			return false
		case e.Tool != "":
			t, ok := h.Get(e.Tool)
			return ok && t.Owner == e.Plugin
		}
		// A plugin whose name is taken is not loaded: the status is that of its namesake.
		return loaded && s.State != plugin.Refused && !errors.Is(e, tool.ErrAlreadyExists)
	})
	out := slices.Clone(l.all)
	for _, e := range h.Status().Faults {
		if !slices.ContainsFunc(out, func(known *tool.Error) bool { return known.Message == e.Message }) {
			out = append(out, e)
		}
	}
	return out
}

func ofPlugin(name string) func(*tool.Error) bool {
	return func(e *tool.Error) bool { return e.Plugin == name }
}

func sameSubject(a, b *tool.Error) bool { return a.Plugin == b.Plugin && a.Tool == b.Tool }
