package installed

import "github.com/toolhost/toolhost/internal/pluginpackage"

// Said is what was last found out about a plugin where it came from.
type Said struct {
	// Notices are what its publisher says of its versions.
	Notices pluginpackage.Sealed `json:"notices,omitzero"`
	// Gone is the version that was not there any more. Empty: that which is installed was.
	Gone string `json:"gone,omitempty"`
}

// Of returns what is known of a version, for people.
func (s Said) Of(version string) []string {
	n, _ := s.Notices.Parse() // as it was before it was kept
	out := n.Of(version).Lines()
	if s.Gone == version {
		out = append(out, "it is not there any more where it came from")
	}
	return out
}

// Said returns what was last found out about a plugin.
//
// # Errors
//
// Those of [state.File.Read].
func (d *Dir) Said(name string) (Said, error) {
	all, err := d.said.Read()
	return all[name], err
}

// Hear keeps what was found out about a plugin. Nothing is kept of one of which nothing is said.
//
// # Errors
//
// Those of [state.File.Update].
func (d *Dir) Hear(name string, s Said) error {
	return d.said.Update(func(all *map[string]Said) error {
		switch {
		case s == Said{}:
			delete(*all, name)
		case *all == nil:
			*all = map[string]Said{name: s}
		default:
			(*all)[name] = s
		}
		return nil
	})
}
