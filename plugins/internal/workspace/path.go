package workspace

import (
	"path"
	"path/filepath"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// Clean is the shortest way to write a path: relative to the workspace, with
// slashes, and "." for the workspace itself. It follows no links.
//
// # Errors
//
// [tool.CodePermissionDenied] for a path that is absolute or leads above the
// workspace; a plain error for one that cannot be a path.
func Clean(given string) (string, error) {
	switch {
	case given == "":
		return "", complain(nil, "the path is empty (use . for the workspace itself)")
	case !utf8.ValidString(given):
		return "", complain(nil, "the path is not valid UTF-8: %s (write the name in UTF-8)", show(given))
	case strings.ContainsRune(given, 0):
		return "", complain(nil, "the path has a NUL character: %s (leave it out)", show(given))
	case path.IsAbs(given), filepath.IsAbs(given):
		return "", escape(given, hintRelative)
	}
	clean := path.Clean(given)
	if clean == ".." || strings.HasPrefix(clean, "../") {
		return "", escape(given, hintRelative)
	}
	// On Windows this refuses backslashes, drives and names of devices.
	if _, err := filepath.Localize(clean); err != nil {
		return "", complain(err, "not a path on this system: %s (use names separated by /)", show(given))
	}
	return clean, nil
}

// longestShown bounds what an error repeats of a path, in bytes.
const longestShown = 256

// Show is a path for a sentence: on one line, at most 256 bytes of it, and in
// quotes where it has characters that cannot be read.
func Show(path string) string { return show(path) }

// show is a path fit for a line of text: as it is where it can be read, quoted
// where it could be mistaken for something else.
func show(p string) string {
	short, rest := p, ""
	if len(p) > longestShown {
		end := longestShown
		for end > longestShown-utf8.UTFMax && !utf8.RuneStart(p[end]) {
			end--
		}
		short, rest = p[:end], "..."
	}
	unreadable := func(r rune) bool { return r == utf8.RuneError || !unicode.IsPrint(r) }
	if strings.ContainsFunc(short, unreadable) || strings.TrimSpace(short) != short {
		short = strconv.Quote(short)
	}
	return short + rest
}
