package roster

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/inflight"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// attached is a provider that the embedder attached. It is the [Keeper] of one that keeps state for sessions.
type attached struct {
	tool.Provider
	member *member
	calls  inflight.Calls     // a plugin counts its own
	life   context.Context    //nolint:containedctx // it outlives calls, and ends when the provider is detached
	end    context.CancelFunc // ends life
}

// list asks the provider for its tools.
func (a *attached) list(ctx context.Context) (out listing) {
	out.run = a.calls.Count(a.Execute, a.isClosed)
	out.err = a.member.contain(func() error {
		if p, ok := a.Provider.(tool.Previewer); ok {
			out.preview = a.calls.Count(p.Preview, a.isClosed)
		}
		if p, ok := a.Provider.(checked.Lister); ok {
			out.checked = true
			all, err := p.ListChecked(ctx)
			out.definitions = make([]*tool.Definition, len(all))
			for i, d := range all {
				out.definitions[i] = d.Get()
			}
			return err
		}
		defs, err := a.List(ctx)
		for i := range defs {
			out.definitions = append(out.definitions, &defs[i])
		}
		return err
	})
	return out
}

// notices returns a function that takes the change notices of an attached provider, from
// now on and until it closes; nil: it sends none. A plugin needs no goroutine for that.
func (a *attached) notices(changed func()) func() {
	n, ok := a.Provider.(tool.Notifier)
	if !ok {
		return nil
	}
	var changes <-chan struct{}
	if err := a.member.contain(func() error { changes = n.Changes(); return nil }); err != nil {
		a.member.logChange(err)
		return nil
	}
	return func() {
		for {
			select {
			case _, more := <-changes:
				if !more {
					return
				}
				changed()
			case <-a.life.Done(): // the channel may be nil, or stay open
				return
			}
		}
	}
}

// Name implements [Keeper].
func (a *attached) Name() string { return a.member.owner }

// Hold implements [Keeper]. An attached provider is not stopped for idleness.
func (a *attached) Hold() (release func()) { return func() {} }

// EndSession implements [Keeper]. A provider that was detached is not told.
func (a *attached) EndSession(session string) {
	if a.life.Err() != nil {
		return
	}
	_ = a.member.contain(func() error { // which logs a panic
		a.Provider.(tool.SessionEnder).EndSession(session)
		return nil
	})
}

// isClosed is the error of a call that comes when the provider is closed.
func (a *attached) isClosed(name string) error {
	return tool.Errorf(tool.CodeUnavailable, "%s is closed, so tool %s cannot run", a.member.owner, name).
		Of(name, a.member.owner).At(callstage.Execute).NeverSent().Fix("attach it again")
}

// drainTimeout bounds how long calls may take to end before the provider is closed, as those of a plugin.
const drainTimeout = 5 * time.Second

func (a *attached) close(ctx context.Context) error {
	drain, cancel := context.WithTimeout(ctx, drainTimeout)
	defer cancel()
	a.calls.Refuse()
	a.calls.Wait(drain)
	return a.member.contain(func() error { return a.Close(ctx) })
}
