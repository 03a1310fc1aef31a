package roster

import (
	"context"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Detach removes what has a name, as host.Host.Detach says.
func (r *Roster) Detach(ctx context.Context, owner string) error {
	m := r.find(owner)
	if m == nil {
		return nothingAttached(owner)
	}
	end, err := m.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	s := m.now().source
	closed, err := m.detach(ctx)
	if err != nil {
		return err
	}
	return s.awaitClosed(ctx, closed)
}

// Unregister is Detach of what has a name, if anything has, without waiting for its end; else
// it removes the tools that have it as their owner.
func (r *Roster) Unregister(owner string) {
	if m := r.find(owner); m != nil {
		ctx, cancel := r.retirement()
		if closed, err := m.detach(ctx); err == nil {
			go func() {
				defer cancel()
				_ = <-closed //nolint:staticcheck // its error is in the provider's hands
			}()
			return
		}
		cancel()
	}
	r.registry.Drop(owner)
	r.ReturnNames()
}

// detach makes the member absent and removes its tools. Its source is closed in the
// background, by ctx; then closed receives the error.
func (m *member) detach(ctx context.Context) (closed <-chan error, err error) {
	if closed, err = m.detachAlone(ctx); err == nil {
		m.roster.ReturnNames()
	}
	return closed, err
}

// detachAlone is detach that gives the names to no one.
func (m *member) detachAlone(ctx context.Context) (closed <-chan error, err error) {
	// What lists the tools just now may take as long as it likes: it finds the source gone.
	m.publishing.Lock()
	defer m.publishing.Unlock()
	s := m.now().source
	if s == nil {
		return nil, nothingAttached(m.owner)
	}
	done := make(chan error, 1)
	if err := m.become(absent, s, nil, func() { done <- s.close(ctx) }); err != nil {
		return nil, err
	}
	m.roster.mu.Lock()
	m.detached = s.path
	m.roster.mu.Unlock()
	if s.attached != nil {
		s.attached.end()
	}
	m.roster.registry.Drop(m.owner)
	m.roster.forgetBusy(m)
	m.roster.log.Info("detached", "plugin", m.owner)
	return done, nil
}

// forgetBusy gives a name to the next member at once, if this one waits for a provider that
// was asked for its tools and does not answer.
func (r *Roster) forgetBusy(m *member) {
	if m.mu.TryLock() {
		m.mu.Unlock()
		return
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if m.detached == "" && r.members[m.owner] == m { // a plugin answers in time, or is ended
		delete(r.members, m.owner)
	}
}

func nothingAttached(owner string) error {
	return tool.Errorf(tool.CodeNotFound, "no plugin or provider is attached as %.64q", owner).
		Of("", owner).At(callstage.Register).Try("see Host.Plugins for the plugins, and use the names given to Host.Attach")
}

// notClosed is the error for what had not closed when the context ended.
func notClosed(ctx context.Context, owner string) error {
	return tool.Errorf(tool.CodeOf(ctx.Err()), "plugin %s has not closed in time: %v", owner, context.Cause(ctx)).
		Of("", owner).Because(ctx.Err()).Try("allow more time, or see why it ignores the end of the context of Close")
}

// awaitClosed waits for what close returned: in the case of a plugin as long as it takes, as
// its processes are ended by ctx, else no longer than ctx.
func (s *source) awaitClosed(ctx context.Context, closed <-chan error) error {
	if s.plugin != nil {
		return <-closed
	}
	select {
	case err := <-closed:
		return err
	case <-ctx.Done():
		return notClosed(ctx, s.member.owner)
	}
}
