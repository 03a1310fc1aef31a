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
	a := &attached{Provider: p, member: m}
	a.life, a.end = context.WithCancel(r.life)
	s := &source{member: m, attached: a}
	if err := m.become(loading, nil, s, nil); err != nil {
		a.end()
		return err
	}
	follow := a.notices(s.changed) // before the tools are listed, so that no change is missed
	err := m.refresh(ctx, s)
	s.activate(follow)
	return err
}

// Attached returns the providers that are attached.
func (r *Roster) Attached() (out []tool.Provider) {
	for _, s := range r.sources() {
		if s.isAttached() {
			out = append(out, s.attached.Provider)
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
	life := s.member.roster.life
	if s.attached != nil {
		life = s.attached.life
	}
	if err := s.member.refresh(life, s); err != nil && life.Err() == nil {
		s.member.logChange(err)
	}
}

func (m *member) logChange(err error) {
	m.roster.log.Warn("tools changed, and not all of them can be used", "plugin", m.owner, "error", inShort(m.owner, err))
}
