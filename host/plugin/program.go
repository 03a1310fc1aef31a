package plugin

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// findProgram returns the path of a program, which may be a name: it is looked for in the PATH
// of the environment that the program gets, in absolute directories only. A path that is not
// absolute is below the working directory.
func findProgram(name, dir string, env []string) (string, error) {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	path := ""
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "PATH="); ok {
			path = value
		}
	}
	for _, in := range filepath.SplitList(path) {
		if !filepath.IsAbs(in) { // the workspace, which others may fill
			continue
		}
		at := filepath.Join(in, name)
		if info, err := os.Stat(at); err == nil && info.Mode().IsRegular() && info.Mode()&0o111 != 0 {
			return at, nil
		}
	}
	const most = 400
	if len(path) > most {
		path = path[:most] + "…"
	}
	return "", &startFailure{reason: fmt.Sprintf("it is in no directory of its PATH (%s)", path), err: exec.ErrNotFound}
}
