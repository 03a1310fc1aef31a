package config

import (
	"maps"
	"slices"

	"github.com/toolhost/toolhost/internal/pluginpackage"
)

// checkTrust notes publishers that are incomplete, or that say something that a package cannot have.
func (r *reader) checkTrust(t Trust) {
	const key = "trust.publishers"
	for _, name := range slices.Sorted(maps.Keys(t.Publishers)) {
		if slices.Contains(t.Publishers[name].Keys, "") {
			continue // that one is not a key is said
		}
		if err := (pluginpackage.Publishers{name: t.Publishers[name]}).Validate(); err != nil {
			r.at(below(key, name), "", "%s", err.Error())
		}
	}
	if len(r.problems) > 0 {
		return
	}
	if err := pluginpackage.Publishers(t.Publishers).Validate(); err != nil {
		r.at(key, "give each publisher its own keys", "%s", err.Error())
	}
	if t.Required && len(t.Publishers) == 0 {
		r.at("trust.required", "name publishers, or remove it", "no plugin would run, as there are no publishers")
	}
}
