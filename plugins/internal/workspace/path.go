package workspace

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean returns the shortest form of a path: relative to the workspace, with slashes,
// and "." for the workspace itself. It does not follow links.
//
// # Errors
//
// [tool.CodePermissionDenied] for a path that is absolute or leads above the
// workspace; a plain error for one that cannot be a path.
func Clean(given string) (string, error) {
	switch {
	case given == "":
		return "", newFault(nil, "the path is empty (use . for the workspace itself)")
	case !utf8.ValidString(given):
		return "", newFault(nil, "the path is not valid UTF-8: %s (write the name in UTF-8)", Show(given))
	case strings.ContainsRune(given, 0):
		return "", newFault(nil, "the path has a NUL character: %s (leave it out)", Show(given))
	case path.IsAbs(given), filepath.IsAbs(given):
		return "", escapeError(given, hintRelative)
	}
	clean := path.Clean(given)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", escapeError(given, hintRelative)
	}
	if _, err := filepath.Localize(clean); err != nil {
		return "", newFault(err, "not a path on this system: %s (use names separated by /)", Show(given))
	}
	return clean, nil
}

// longestShown bounds how much of a path an error repeats, in bytes.
const longestShown = 256

// Show returns a path for a sentence: on one line, at most 256 bytes of it, and in
// quotes if it has characters that cannot be read.
func Show(path string) string {
	short, rest := path, ""
	if len(path) > longestShown {
		end := longestShown
		for end > longestShown-utf8.UTFMax && !utf8.RuneStart(path[end]) {
			end--
		}
		short, rest = path[:end], "..."
	}
	unreadable := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if strings.ContainsFunc(short, unreadable) || strings.TrimSpace(short) != short {
		short = strconv.Quote(short)
	}
	return short + rest
}
