package sandbox

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// within reports whether path is dir or below it.
func within(dir, path string) bool {
	rest, ok := strings.CutPrefix(path, strings.TrimSuffix(dir, "/"))
	return ok && (rest == "" || rest[0] == '/')
}

func (of Profile) writes(path string) bool {
	return of.Write.Any || slices.ContainsFunc(of.Write.List, func(dir string) bool { return within(dir, path) })
}

// above returns the directories that contain one of the paths and could be renamed, those that
// contain others first.
func (of Profile) above(paths []string) (dirs []string) {
	for _, path := range paths {
		for dir := filepath.Dir(path); dir != "/" && of.writes(filepath.Dir(dir)); dir = filepath.Dir(dir) {
			if !slices.Contains(dirs, dir) {
				dirs = append(dirs, dir)
			}
		}
	}
	slices.Sort(dirs)
	return dirs
}

func (of Profile) sees(path string) bool {
	return of.Read.Any || slices.ContainsFunc(slices.Concat(of.Read.List, of.Write.List), func(dir string) bool { return within(dir, path) })
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}
