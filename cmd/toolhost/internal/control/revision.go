package control

import "runtime/debug"

// Revision returns the revision of this program's source: the commit, with + if there were changes on top of
// it, or the version of the module that was installed; empty: the build does not say.
func Revision() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return ""
	}
	return revisionOf(info)
}

func revisionOf(info *debug.BuildInfo) string {
	revision, changed := "", ""
	for _, s := range info.Settings {
		switch {
		case s.Key == "vcs.revision":
			revision = s.Value
		case s.Key == "vcs.modified" && s.Value == "true":
			changed = "+"
		}
	}
	if revision == "" && info.Main.Version != "(devel)" {
		return info.Main.Version
	}
	return revision + changed
}
