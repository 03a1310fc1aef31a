package protect

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// maxLinks bounds the symbolic links on the way to a file, as systems do.
const maxLinks = 255

// Resolve returns the one path of a file, whether it exists or not: absolute, with all
// symbolic links followed, those that lead nowhere too. Links are the ones on the way,
// each by its own such path.
//
// # Errors
//
// A plain error where links lead in a circle, or the working directory is gone.
func Resolve(path string) (at string, links []string, err error) { return directories{}.resolve(path) }

// directories are paths that are known not to be links: the paths of a list have most of their directories in common.
type directories map[string]bool

func (known directories) resolve(path string) (at string, links []string, err error) {
	rest, err := filepath.Abs(path)
	if err != nil {
		return "", nil, err
	}
	at, rest = top(rest)
	for rest != "" {
		var name string
		name, rest, _ = strings.Cut(rest, string(filepath.Separator))
		switch name {
		case "", ".":
			continue
		case "..":
			at = filepath.Dir(at)
			continue
		}
		next := filepath.Join(at, name)
		if known[next] {
			at = next
			continue
		}
		target, err := os.Readlink(next)
		if err != nil { // not a link, or nothing is there
			at, known[next] = next, true
			continue
		}
		if len(links) == maxLinks {
			return "", nil, fmt.Errorf("%s leads through too many symbolic links", path)
		}
		links = append(links, next)
		if filepath.IsAbs(target) {
			at, target = top(target)
		}
		rest = filepath.FromSlash(target) + string(filepath.Separator) + rest
	}
	return at, links, nil
}

// top takes an absolute path apart: where it begins, and the names from there on.
func top(path string) (root, rest string) {
	volume := filepath.VolumeName(path)
	return volume + string(filepath.Separator), filepath.FromSlash(path[len(volume):])
}
