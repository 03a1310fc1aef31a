package roster

import (
	"context"
	"reflect"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Attach adds a provider under an owner's name, as host.Host.Attach says.
func (r *Roster) Attach(ctx context.Context, owner string, p tool.Provider) error {
	switch {
	case p == nil && owner == "":
		return invalidProvider(owner, "the provider of this program is nil")
	case isNil(p):
		return invalidProvider(owner, "the provider of plugin "+owner+" is nil")
	case owner == "":
		return invalidProvider(owner, "a provider needs an owner's name")
	}
	m := r.member(owner)
	s := &source{member: m, provider: p}
	s.life, s.end = context.WithCancel(r.life)
	if err := m.become(loading, nil, s, nil); err != nil {
		s.end()
		return err
	}
	follow := s.notices() // before the tools are listed, so that no change is missed
	err := m.refresh(ctx, s)
	s.activate(follow)
	return err
}

// Attached returns the providers that are attached.
func (r *Roster) Attached() (out []tool.Provider) {
	for _, s := range r.sources() {
		if s.isAttached() {
			out = append(out, s.provider)
		}
	}
	return out
}

// isNil reports whether a provider is nil, or a nil pointer, which its methods would follow.
func isNil(p tool.Provider) bool {
	v := reflect.ValueOf(p)
	return p == nil || v.Kind() == reflect.Pointer && v.IsNil()
}

func invalidProvider(owner, why string) error {
	return tool.Errorf(tool.CodeInvalidDefinition, "%s", why).
		Of("", owner).At(callstage.Register).Try("attach a provider that is not nil, under a name")
}

// notices returns a function that takes the change notices of an attached provider, from
// now on and until it closes; nil: it sends none. A plugin needs no goroutine for that: it
// calls changed.
func (s *source) notices() func() {
	n, ok := s.provider.(tool.Notifier)
	if !ok {
		return nil
	}
	var changes <-chan struct{}
	if err := s.contain(func() error { changes = n.Changes(); return nil }); err != nil {
		s.logChange(err)
		return nil
	}
	return func() {
		for {
			select {
			case _, more := <-changes:
				if !more {
					return
				}
				s.changed()
			case <-s.life.Done(): // the channel may be nil, or stay open
				return
			}
		}
	}
}

// activate says that the registry has the source's tools, and takes the changes that came
// before. In the background (nil: nothing) it runs a function that Close waits for.
func (s *source) activate(background func()) {
	if s.member.become(active, s, s, background) == nil {
		s.catchUp()
	}
}

// catchUp takes the changes that came before the registry had the source's tools.
func (s *source) catchUp() {
	r := s.member.roster
	r.mu.Lock()
	missed := s.missed
	s.missed = false
	r.mu.Unlock()
	if missed {
		s.refreshOrLog()
	}
}

// changed is called whenever the source may serve other tools than it listed last.
func (s *source) changed() {
	m := s.member
	m.roster.mu.Lock()
	follows := m.state == active && m.source == s
	s.missed = s.missed || !follows
	m.roster.mu.Unlock()
	if follows {
		s.refreshOrLog()
	}
}

// refreshOrLog refreshes the member, and logs what could not be used.
func (s *source) refreshOrLog() {
	life := s.life
	if life == nil {
		life = s.member.roster.life
	}
	if err := s.member.refresh(life, s); err != nil && life.Err() == nil {
		s.logChange(err)
	}
}

func (s *source) logChange(err error) {
	s.member.roster.log.Warn(
		"tools changed, and not all of them can be used", "plugin", s.member.owner, "error", inShort(s.member.owner, err))
}
