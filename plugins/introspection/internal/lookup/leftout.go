package lookup

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
)

// maxLeftOut is how many files that were left out are named.
const maxLeftOut = 8

const included = "; goos or tags can include them"

// LeftOut tells which files build constraints leave out.
func (f Finder) LeftOut(files []string) string {
	return fmt.Sprintf("%s left out by build constraints (%s)%s", number(len(files)), f.short(files), included)
}

// LeftOutNaming tells which of so many files that build constraints leave out have a name.
func (f Finder) LeftOutNaming(files []string, all int, name string) string {
	return fmt.Sprintf("%s left out by build constraints, and %s is named in %s%s", number(all), name, f.short(files), included)
}

func number(files int) string {
	if files == 1 {
		return "1 file is"
	}
	return fmt.Sprintf("%d files are", files)
}

// short names some of the files.
func (f Finder) short(files []string) string {
	var names []string
	for _, path := range files[:min(len(files), maxLeftOut)] {
		if rel, ok := f.Snapshot.Root.Relative(path); ok {
			names = append(names, rel)
		} else {
			names = append(names, filepath.Base(path))
		}
	}
	if more := len(files) - len(names); more > 0 {
		names = append(names, fmt.Sprintf("%d more", more))
	}
	return strings.Join(names, ", ")
}

// declaredIn returns the files that build constraints leave out and that declare a symbol.
func (f Finder) declaredIn(ways []parsed) []string {
	var out []string
	for _, left := range f.Snapshot.LeftOut() {
		for _, file := range left.Files {
			for _, d := range f.Snapshot.DeclarationsIn(file) {
				if named(d.String(), ways) {
					out = append(out, file)
					break
				}
			}
		}
	}
	return out
}

// named reports whether a name is meant in one of several ways, whatever the package.
func named(name string, ways []parsed) bool {
	return slices.ContainsFunc(ways, func(p parsed) bool { return p.symbol() == name })
}

// Files returns the files of all directories.
func Files(left []check.LeftOut) []string {
	var out []string
	for _, l := range left {
		out = append(out, l.Files...)
	}
	return out
}
