package workspace

import (
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// checkGit refuses to change what git runs or is told by: anything called .git, and what is
// in it. A hook, or a configuration that names a program, is run by the next git command of
// a person who has approved neither. Parent is the directory with links resolved.
func (w *Workspace) checkGit(given, name, parent string) error {
	if w.git {
		return nil
	}
	inside, err := filepath.Rel(w.path, parent)
	if err != nil {
		inside = "."
	}
	for _, path := range []string{name, filepath.ToSlash(inside)} {
		for element := range strings.SplitSeq(path, "/") {
			if isGit(element) {
				return tool.Errorf(tool.CodePermissionDenied,
					"%s belongs to git, which runs programs that are named there", Show(given)).
					At(callstage.Execute).Try("make the change with git, or leave it to a person")
			}
		}
	}
	return nil
}

// isGit reports whether a file system may take a name for .git: some ignore case, others
// also have a short name for it.
func isGit(name string) bool {
	return strings.EqualFold(name, ".git") || strings.EqualFold(name, "git~1")
}
