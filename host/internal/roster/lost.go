package roster

import (
	"errors"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// lostNames are the tools of a member whose names belong to others.
type lostNames struct {
	entries []Entry // all that the member's source serves, to be published again
	to      []plugin.LostName
}

func (l *lostNames) names() []plugin.LostName {
	if l == nil {
		return nil
	}
	return slices.Clone(l.to)
}

// lostTo returns the losses among errors of a set.
func lostTo(err error) (out []plugin.LostName) {
	joined, ok := err.(interface{ Unwrap() []error })
	if ok {
		for _, e := range joined.Unwrap() {
			out = append(out, lostTo(e)...)
		}
		return out
	}
	if taken, ok := errors.AsType[*TakenError](err); ok {
		out = append(out, plugin.LostName{Tool: taken.Name, To: taken.Owner})
	}
	return out
}

// inShort is an error with one line for each owner that has names of a plugin's tools, in
// place of one for each tool. It is for logs.
func inShort(owner string, err error) error {
	lost := lostTo(err)
	if len(lost) < 2 {
		return err
	}
	var others []error
	if joined, ok := err.(interface{ Unwrap() []error }); ok {
		for _, e := range joined.Unwrap() {
			if len(lostTo(e)) == 0 {
				others = append(others, e)
			}
		}
	}
	for _, line := range pluginrun.LostLines(owner, lost) {
		others = append(others, errors.New(line))
	}
	return errors.Join(others...)
}

// publish makes sets what the registry has of their owners, and remembers the names. It
// returns an error for each set, and what has become of those whose source still counts.
func (r *Roster) publish(sources []*source, sets []Set) (faults []error, results []Result) {
	faults, results, served := r.put(sources, sets)
	r.record(served)
	for i, s := range sources {
		r.keepLevels(s, sets[i].Entries)
	}
	return faults, results
}

// haveFreed reports whether names were given up.
func haveFreed(results []Result) bool {
	return slices.ContainsFunc(results, func(one Result) bool { return len(one.Removed) > 0 })
}

// put is publish without remembering: served are the entries by source.
func (r *Roster) put(sources []*source, sets []Set) (faults []error, results []Result, served map[*source][]Entry) {
	r.publishing.Lock()
	defer r.publishing.Unlock()
	faults = make([]error, len(sets))
	var current []int // what another source has replaced meanwhile is not published
	var wanted []Set
	for i, s := range sources {
		if s.member.now().source != s {
			continue
		}
		set := sets[i]
		set.Entries, faults[i] = r.withoutReserved(s, sets[i].Entries)
		current, wanted = append(current, i), append(wanted, set)
	}
	results = r.registry.Put(wanted)
	served = map[*source][]Entry{}
	r.mu.Lock()
	defer r.mu.Unlock()
	for n, i := range current {
		s, result := sources[i], results[n]
		faults[i] = errors.Join(faults[i], result.Err)
		m, all := s.member, sets[i].Entries
		if s.served = all != nil; s.served {
			s.failure = nil
			served[s] = result.Entries
		}
		if m.source != s {
			continue
		}
		m.lost = nil
		if lost := lostTo(faults[i]); len(lost) > 0 {
			m.lost = &lostNames{all, lost}
		}
	}
	return faults, results, served
}

// ReturnNames gives the names that became free to those that wanted them: it is called after
// an owner has gone or serves less. The caller holds no member.publishing.
func (r *Roster) ReturnNames() {
	r.mu.Lock()
	var losers []*member
	for _, m := range r.members {
		if m.lost != nil {
			losers = append(losers, m)
		}
	}
	r.mu.Unlock()
	slices.SortFunc(losers, func(a, b *member) int { return strings.Compare(a.owner, b.owner) })
	for _, m := range losers {
		m.publishing.Lock()
		m.reclaim()
		m.publishing.Unlock()
	}
}

// reclaim publishes the tools again whose names others had. The caller holds publishing.
func (m *member) reclaim() {
	now := m.now()
	if now.source == nil || now.lost == nil {
		return
	}
	_, _ = m.roster.publish([]*source{now.source}, []Set{{Owner: m.owner, Entries: now.lost.entries}})
	got := len(now.lost.to)
	if after := m.now(); after.source == now.source {
		got -= len(after.lost.names())
	}
	if got > 0 {
		m.roster.log.Info("a plugin has names of tools that others had", "plugin", m.owner, "tools", got)
	}
}

// inBackground runs f in a goroutine that Close waits for, unless the roster is closed.
func (r *Roster) inBackground(f func()) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if !r.closed {
		r.background.Go(f)
	}
}
