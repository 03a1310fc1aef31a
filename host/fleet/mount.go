package fleet

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"golang.org/x/mod/semver"

	"github.com/toolhost/toolhost/host/fleet/durable"
	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// offer is a tool that a host shares and this one mounts. It never changes.
type offer struct {
	shared

	member *member
	def    *definition
}

// definition is one that offers have. Hosts with the same one share it.
type definition struct {
	*checked.Definition

	uses int // offers; guarded by the fleet's lock
}

// mounted is a tool by its name here. It never changes.
type mounted struct {
	name     string
	versions []*version          // the one that is used first
	def      *checked.Definition // of that one, by the name here: the registry has it
	durable  durable.Mode
}

// version is one definition of a name, and the hosts that share it.
type version struct {
	digest string
	def    *definition
	offers []*offer // sorted by the names of hosts
	reason string   // why it is not used; empty: it is, or is not the first
}

// gatherTime is how long changes are collected before they are told.
const gatherTime = 100 * time.Millisecond

// take replaces the offers of a host, which are by the names that they have here.
func (f *Fleet) take(m *member, offers map[string]*offer, revision uint64) {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.members[m.id] != m {
		return
	}
	before := m.offers
	for _, o := range offers {
		if d := f.defs[o.Digest]; d != nil {
			o.def = d
		} else {
			f.defs[o.Digest] = o.def
		}
		o.def.uses++
	}
	m.offers, m.have = offers, revision
	for name, o := range before {
		f.forget(name, o)
		if offers[name] == nil {
			f.fit(name)
		}
	}
	for name, o := range offers {
		i, _ := slices.BinarySearchFunc(f.offers[name], o, byHost)
		f.offers[name] = slices.Insert(f.offers[name], i, o)
		f.fit(name)
	}
}

func byHost(a, b *offer) int {
	return cmp.Or(cmp.Compare(a.member.host, b.member.host), cmp.Compare(a.member.id, b.member.id))
}

// forget removes an offer. The lock is held.
func (f *Fleet) forget(name string, o *offer) {
	if o.def.uses--; o.def.uses == 0 && f.defs[o.Digest] == o.def {
		delete(f.defs, o.Digest)
	}
	if i, there := slices.BinarySearchFunc(f.offers[name], o, byHost); there {
		f.offers[name] = slices.Delete(f.offers[name], i, i+1)
	}
	if len(f.offers[name]) == 0 {
		delete(f.offers, name)
	}
}

// withdraw removes the offers of a host that is gone. The lock is held.
func (f *Fleet) withdraw(m *member) {
	before := m.offers
	m.offers = nil
	for name, o := range before {
		f.forget(name, o)
		f.fit(name)
	}
}

// refit makes the tools of a host again, as which of their versions is used may depend on it. The
// lock is held.
func (f *Fleet) refit(m *member) {
	for name := range m.offers {
		f.fit(name)
	}
}

// fit has what is mounted under a name made again: before it is used, and for many changes once. The lock is
// held.
func (f *Fleet) fit(name string) {
	f.unfit[name] = true
	f.notifySoon()
}

// mountedAs returns what is mounted under a name; nil: nothing. The lock is held.
func (f *Fleet) mountedAs(name string) *mounted {
	if f.unfit[name] {
		before, now := f.tools[name], f.build(name)
		if now == nil {
			delete(f.tools, name)
		} else {
			f.tools[name] = now
		}
		f.untold = f.untold || before.listed() != now.listed()
		delete(f.unfit, name)
	}
	return f.tools[name]
}

// fitAll makes again what has to be. It lets others have the lock in between.
func (f *Fleet) fitAll() {
	const atOnce = 1000
	for left := true; left; {
		f.mu.Lock()
		n := 0
		for name := range f.unfit {
			if n++; n > atOnce {
				break
			}
			f.mountedAs(name)
		}
		left = len(f.unfit) > 0
		f.mu.Unlock()
	}
}

// listed tells what the registry has of a tool from what it had before; empty: it has nothing.
func (t *mounted) listed() string {
	if t == nil || t.versions[0].reason != "" {
		return ""
	}
	return t.versions[0].digest + string(t.durable)
}

// build returns what is mounted under a name; nil: nothing. The lock is held.
func (f *Fleet) build(name string) *mounted {
	c := f.settings.Load()
	rule := c.ruleOf(name)
	byDefinition := map[*definition]*version{}
	t := &mounted{name: name, durable: rule.Durable}
	var v *version // mostly, that of all offers
	for _, o := range f.offers[name] {
		if v == nil || v.def != o.def {
			v = byDefinition[o.def]
		}
		if v == nil {
			v = &version{digest: o.Digest, def: o.def}
			byDefinition[o.def] = v
			t.versions = append(t.versions, v)
		}
		v.offers = append(v.offers, o)
	}
	if len(t.versions) == 0 {
		return nil
	}
	for _, v := range t.versions {
		v.reason = v.excluded(rule)
	}
	slices.SortFunc(t.versions, func(a, b *version) int {
		return cmp.Or(
			cmp.Compare(rank(a), rank(b)),
			-semver.Compare(a.semver(), b.semver()),
			cmp.Compare(a.digest, b.digest),
		)
	})
	t.def = t.versions[0].def.As(name)
	if t.durable != "" {
		t.def = t.def.Within(durable.DefaultTTL) // it waits for a host, too
	}
	if before := f.tools[name]; before != nil && before.versions[0].def == t.versions[0].def && before.durable == t.durable {
		t.def = before.def // by which the registry knows that nothing has changed
	}
	return t
}

// List implements [tool.Provider].
func (f *Fleet) List(ctx context.Context) ([]tool.Definition, error) {
	all, err := f.ListChecked(ctx)
	out := make([]tool.Definition, len(all))
	for i, d := range all {
		out[i] = d.Get().Clone()
	}
	return out, err
}

// ListChecked is List for the registry of this host.
func (f *Fleet) ListChecked(context.Context) ([]*checked.Definition, error) {
	f.fitAll()
	f.mu.Lock()
	all := make([]*checked.Definition, 0, len(f.tools))
	for _, t := range f.tools {
		if t.listed() != "" {
			all = append(all, t.def)
		}
	}
	f.mu.Unlock()
	shadowed := map[string]bool{}
	all = slices.DeleteFunc(all, func(d *checked.Definition) bool {
		name := d.Get().Name
		if owner, there := f.host.OwnerOf(name); !there || owner == Owner {
			return false
		}
		shadowed[name] = true // the host's own tools keep their names
		return true
	})
	slices.SortFunc(all, func(a, b *checked.Definition) int { return strings.Compare(a.Get().Name, b.Get().Name) })
	f.mu.Lock()
	f.shadowed = shadowed
	f.mu.Unlock()
	return all, nil
}

// unshadow lists the tools again if a tool of the host that had the name of one is gone.
func (f *Fleet) unshadow() {
	f.mu.Lock()
	shadowed := f.shadowed
	f.mu.Unlock()
	for name := range shadowed {
		if _, there := f.host.OwnerOf(name); !there {
			f.mu.Lock()
			f.untold = true
			f.notifySoon()
			f.mu.Unlock()
			return
		}
	}
}

// notifySoon tells the registry if its tools have changed, once for all changes of a moment. The
// lock is held.
func (f *Fleet) notifySoon() {
	if f.telling || f.closed {
		return
	}
	f.telling = true
	time.AfterFunc(gatherTime, func() {
		f.mu.Lock()
		f.telling = false // changes from here on are told again
		f.mu.Unlock()
		f.fitAll()
		f.mu.Lock()
		defer f.mu.Unlock()
		if f.untold && !f.closed {
			f.untold = false
			select {
			case f.changes <- struct{}{}:
			default:
			}
		}
	})
}

// told says that the registry is about to list the tools.
func (f *Fleet) told() {
	f.fitAll()
	f.mu.Lock()
	defer f.mu.Unlock()
	f.untold = false
	select {
	case <-f.changes:
	default:
	}
}

// Changes implements [tool.Notifier].
func (f *Fleet) Changes() <-chan struct{} { return f.changes }

// CountTools returns how many of the mounted tools are used.
func (f *Fleet) CountTools() int {
	f.fitAll()
	f.mu.Lock()
	defer f.mu.Unlock()
	n := 0
	for name, t := range f.tools {
		if t.listed() != "" && !f.shadowed[name] {
			n++
		}
	}
	return n
}

// Tools returns the mounted tools, sorted by name, and those that could be.
func (f *Fleet) Tools() []ToolStatus {
	f.fitAll()
	f.mu.Lock()
	defer f.mu.Unlock()
	out := make([]ToolStatus, 0, len(f.tools))
	for _, name := range slices.Sorted(maps.Keys(f.tools)) {
		status := ToolStatus{Name: name}
		for i, v := range f.tools[name].versions {
			s := VersionStatus{
				Digest: v.digest, Plugin: v.offers[0].Plugin, Version: v.newest(), Reason: v.reason, Used: i == 0 && v.reason == "",
			}
			for _, o := range v.offers {
				s.Hosts = append(s.Hosts, o.member.host)
			}
			switch {
			case f.shadowed[name]:
				s.Used, s.Reason = false, "this host has a tool of that name"
			case i > 0 && s.Reason == "":
				used := f.tools[name].versions[0]
				s.Reason = fmt.Sprintf("the definition %.12s of version %s is used", used.digest, cmp.Or(used.newest(), "unknown"))
			}
			status.Versions = append(status.Versions, s)
		}
		out = append(out, status)
	}
	return out
}
