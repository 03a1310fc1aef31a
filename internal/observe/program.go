package observe

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/toolhost/toolhost/internal/grant"
)

// Program returns the path of a program, which may be a name: it is looked for in the PATH
// of the environment that the program gets, in absolute directories only. A path that is not
// absolute is below the working directory.
func Program(name, dir string, env []string) (string, error) {
	if filepath.Base(name) != name {
		if !filepath.IsAbs(name) {
			name = filepath.Join(dir, name)
		}
		return name, nil
	}
	path := variable(env, "PATH")
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
	return "", fmt.Errorf("it is in no directory of its PATH (%s)", path)
}

// Programs returns a list of programs with paths in place of names, which are looked up as
// those of commands. One that is not there cannot be started.
func Programs(list, env []string) (out []string) {
	for _, entry := range list {
		if !grant.IsWord(entry) && !strings.ContainsRune(entry, '/') {
			path, err := Program(entry, "", env)
			if err != nil {
				continue
			}
			entry = path
		}
		out = append(out, entry)
	}
	return out
}

// ExpandHome returns a path with the home directory, by the environment of a program, in place of ~.
func ExpandHome(path string, env []string) string {
	rest, ok := strings.CutPrefix(path, "~/")
	if !ok {
		return path
	}
	home, _ := os.UserHomeDir()
	for _, kv := range env {
		if value, ok := strings.CutPrefix(kv, "HOME="); ok {
			home = value
		}
	}
	return filepath.Join(home, rest)
}
