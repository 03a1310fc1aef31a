package workspace

import (
	"fmt"
	"io/fs"
	"path"
	"strings"
	"time"
	"unicode/utf8"
)

// Entry is one thing in a directory.
type Entry struct {
	Path     string // relative to the workspace
	Name     string // the last element of Path
	Kind     Kind
	Size     int64 // bytes of a file; 0 for all else
	Modified time.Time
}

// found is an entry with the file info that identifies it.
type found struct {
	Entry
	info fs.FileInfo
}

func entry(dir string, info fs.FileInfo) found {
	e := Entry{
		Path: path.Join(dir, info.Name()), Name: info.Name(),
		Kind: kindOf(info.Mode()), Modified: clampTime(info.ModTime()),
	}
	if e.Kind == File {
		e.Size = info.Size()
	}
	return found{e, info}
}

// clampTime keeps a time within the years that RFC 3339 has. A file may have any time,
// and one outside of these years would make the whole listing impossible to encode.
func clampTime(t time.Time) time.Time {
	t = t.UTC()
	switch {
	case t.Year() < 0:
		return time.Date(0, 1, 1, 0, 0, 0, 0, time.UTC)
	case t.Year() > 9999:
		return time.Date(9999, 12, 31, 23, 59, 59, 0, time.UTC)
	}
	return t
}

// Escape replaces the bytes of a path that are not UTF-8 by \xNN, because they could not
// be sent. It reports whether there were any; no tool accepts such a path.
func Escape(path string) (string, bool) {
	if utf8.ValidString(path) {
		return path, false
	}
	var b strings.Builder
	for i := 0; i < len(path); {
		r, size := utf8.DecodeRuneInString(path[i:])
		if r == utf8.RuneError && size == 1 {
			fmt.Fprintf(&b, `\x%02x`, path[i])
		} else {
			b.WriteString(path[i : i+size])
		}
		i += size
	}
	return b.String(), true
}
