package grant

import (
	"errors"
	"path"
	"path/filepath"
	"slices"
	"strings"
)

// The words that lists have besides paths, hosts and programs.
const (
	Workspace = "workspace" // the directory that the plugin is configured with
	Cache     = "cache"     // a directory of the plugin's own that lasts
	Any       = "any"       // everything
)

// IsWord reports whether an entry is one of the words.
func IsWord(entry string) bool { return entry == Workspace || entry == Cache || entry == Any }

func pathCovers(wide, narrow string) bool {
	return wide == Any || wide == narrow || strings.HasPrefix(narrow, strings.TrimSuffix(wide, "/")+"/")
}

// OfKernel reports whether a clean path is one of the file systems through which the kernel speaks of all
// processes.
func OfKernel(path string) bool { return pathCovers("/proc", path) || pathCovers("/sys", path) }

func checkPath(entry string) error {
	if IsWord(entry) {
		return nil
	}
	if !isAbs(entry) && !strings.HasPrefix(entry, "~/") {
		return errors.New("it is neither an absolute path, nor a path that begins with ~/, nor one of the words workspace, cache and any")
	}
	if slices.Contains(strings.FieldsFunc(entry, func(r rune) bool { return r == '/' || r == '\\' }), "..") {
		return errors.New("it has .. in it: write the path that it leads to")
	}
	switch p := normalPath(entry); {
	case isAbs(p) && filepath.Dir(p) == p:
		return errors.New("it is everything: write any")
	case OfKernel(p):
		return errors.New("it shows or changes the system and other processes: a process has what it needs of /proc and /sys")
	}
	return nil
}

// isAbs reports whether a path is absolute on any system: one declaration may be for several.
func isAbs(p string) bool { return strings.HasPrefix(p, "/") || filepath.IsAbs(p) }

func checkProgram(entry string) error {
	switch {
	case IsWord(entry), isAbs(entry), strings.HasPrefix(entry, "~/"):
		return checkPath(entry)
	case strings.ContainsAny(entry, `/\`), entry == ".", entry == "..":
		return errors.New("it is neither a name without slashes, nor an absolute path, nor a path that begins with ~/")
	}
	return nil
}

func normalPath(entry string) string {
	if rest, ok := strings.CutPrefix(entry, "~/"); ok {
		return "~" + path.Clean("/"+rest)
	}
	if strings.HasPrefix(entry, "/") {
		return path.Clean(entry)
	}
	return entry
}
