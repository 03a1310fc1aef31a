package fleet

import (
	"slices"
	"strings"

	"golang.org/x/mod/semver"
)

// rank orders versions: those that calls can go to now come first, those that the rule excludes last.
func rank(v *version) int {
	switch {
	case v.reason != "":
		return 2
	case !slices.ContainsFunc(v.offers, func(o *offer) bool { return o.member.takes() }):
		return 1
	}
	return 0
}

// excluded says why a rule does not use the version; empty: it does. The lock is held.
func (v *version) excluded(r Rule) string {
	if len(r.Labels) > 0 && !slices.ContainsFunc(v.offers, func(o *offer) bool { return has(o.member.said.Labels, r.Labels) }) {
		return "no host that shares it has the labels of the rule"
	}
	if digits, ok := strings.CutPrefix(r.Version, "sha256:"); ok {
		if !strings.HasPrefix(v.digest, digits) {
			return "the rule wants the definition " + r.Version
		}
	} else if r.Version != "" && r.Version != newestVersion && r.Version != v.newest() {
		return "the rule wants version " + r.Version
	}
	return ""
}

// newest returns the largest version of the plugin that the version's hosts tell.
func (v *version) newest() string {
	best := ""
	for _, o := range v.offers {
		if best == "" || o.Version != best && semver.Compare(canonical(o.Version), canonical(best)) > 0 {
			best = o.Version
		}
	}
	return best
}

func (v *version) semver() string { return canonical(v.newest()) }

// canonical returns a version as package semver wants it; what is none is smaller than any.
func canonical(version string) string { return "v" + strings.TrimPrefix(version, "v") }

// has reports whether a host has all labels.
func has(labels, wanted map[string]string) bool {
	for k, v := range wanted {
		if now, there := labels[k]; !there || now != v {
			return false
		}
	}
	return true
}
