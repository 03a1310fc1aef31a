//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"strings"
)

// files remembers what is where while the steps of one process are made: most paths begin with
// the same directories, and each look is a system call.
type files map[string]file

type file struct {
	mode   fs.FileMode
	target string // of a symbolic link
	err    error
}

func (f files) at(path string) file {
	if known, ok := f[path]; ok {
		return known
	}
	var out file
	info, err := os.Lstat(path)
	if err == nil {
		out.mode = info.Mode()
		if out.mode&fs.ModeSymlink != 0 {
			out.target, err = os.Readlink(path)
		}
	}
	out.err = err
	f[path] = out
	return out
}

// follow returns what an absolute path leads to, and calls link for each symbolic link on the way.
func (f files) follow(path string, link func(at, target string)) (to string, mode fs.FileMode, err error) {
	to, mode = "/", fs.ModeDir
	for rest, hops := strings.Split(strings.Trim(path, "/"), "/"), 0; len(rest) > 0 && rest[0] != ""; {
		next := filepath.Join(to, rest[0])
		found := f.at(next)
		if found.err != nil {
			return "", 0, found.err
		}
		if found.target == "" {
			to, mode, rest = next, found.mode, rest[1:]
			continue
		}
		if hops++; hops > 40 {
			return "", 0, fs.ErrInvalid
		}
		if link != nil {
			link(next, found.target)
		}
		target := found.target
		if !filepath.IsAbs(target) {
			target = filepath.Join(to, target)
		}
		to, mode = "/", fs.ModeDir
		rest = append(strings.Split(strings.Trim(filepath.Clean(target), "/"), "/"), rest[1:]...)
	}
	return to, mode, nil
}
