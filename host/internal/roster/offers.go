package roster

import (
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
)

// offered notes what a server has besides tools. What another had first stays the other's, as names
// of tools do.
func (s *source) offered(all []string) {
	r := s.member.roster
	r.offering.Lock()
	defer r.offering.Unlock()
	var has, wants []string
	for _, one := range all {
		if _, lost := r.holderOf(s, one); lost {
			wants = append(wants, one)
		} else {
			has = append(has, one)
		}
	}
	err := r.book.Note(func(records known.Records) {
		records.Change(s.key, func(one *known.Record) {
			one.Offers, one.Wants = has, wants
			if one.Since.IsZero() && len(all) > 0 {
				one.Since = time.Now().UTC()
			}
		})
	})
	if err != nil {
		r.log.Warn("what a server has besides tools is known in this process only", "plugin", s.member.owner, "error", err)
	}
}

// holderOf returns who had something before the source; false: no other that is there.
func (r *Roster) holderOf(s *source, offer string) (string, bool) {
	all := r.book.Holders(offer)
	if slices.Contains(all, s.key) {
		return "", false
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, other := range all {
		m := r.members[other.Name]
		if m != nil && m != s.member && m.source != nil && m.source.key == other {
			return other.Name, true
		}
	}
	return "", false
}

// addOffers adds to a status what the source has besides tools, and what of that is another's.
func (s *source) addOffers(out *plugin.Status) {
	one := s.member.roster.book.Of(s.key)
	if s.server == nil || one.Since.IsZero() {
		return
	}
	out.Offers = &plugin.Offers{Since: one.Since}
	for _, offer := range slices.Concat(one.Offers, one.Wants) {
		switch kind, _, _ := strings.Cut(offer, " "); kind {
		case "prompt":
			out.Offers.Prompts++
		case "resource":
			out.Offers.Resources++
		default:
			out.Offers.Templates++
		}
	}
	for _, offer := range one.Wants {
		if to, lost := s.member.roster.holderOf(s, offer); lost {
			kind, name, _ := strings.Cut(offer, " ")
			out.Lost = append(out.Lost, plugin.LostName{Tool: name, Kind: kind, To: to})
		}
	}
}
