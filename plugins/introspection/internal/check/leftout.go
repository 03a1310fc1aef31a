package check

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"unicode"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/internal/source"
)

// LeftOut are the files of a directory that build constraints leave out.
type LeftOut struct {
	Path  string   // import path; empty if no file of the directory is left
	Files []string // absolute, sorted
}

// LeftOut returns the files of the workspace that build constraints leave out, by
// directory.
func (s *Snapshot) LeftOut() []LeftOut {
	var out []LeftOut
	known := map[string]bool{}
	for _, n := range s.Graph.Select(func(n *Node) bool { return n.Own }) {
		known[n.Dir] = true
		if len(n.LeftOut) > 0 {
			out = append(out, LeftOut{Path: n.Path, Files: n.LeftOut})
		}
	}
	for _, dir := range s.listing.Dirs() {
		if known[dir] || s.OtherModule(dir) != "" {
			continue
		}
		var files []string
		for _, f := range s.listing.In(dir) {
			files = append(files, f.Path)
		}
		out = append(out, LeftOut{Files: files})
	}
	return out
}

// DeclarationsIn returns what a file declares that may be in no package.
func (s *Snapshot) DeclarationsIn(path string) []source.Declaration {
	for _, f := range s.listing.In(filepath.Dir(path)) {
		if f.Path == path {
			return s.workspace.files.Declarations(f)
		}
	}
	return nil
}

// Mentions reports whether a file has a word.
func (s *Snapshot) Mentions(path, word string) bool {
	content, err := os.ReadFile(path)
	if err != nil {
		return false
	}
	for text := string(content); ; {
		before, after, found := strings.Cut(text, word)
		if !found {
			return false
		}
		last, _ := utf8.DecodeLastRuneInString(before)
		next, _ := utf8.DecodeRuneInString(after)
		if !isLetter(last) && !isLetter(next) {
			return true
		}
		text = after
	}
}

func isLetter(r rune) bool { return r == '_' || unicode.IsLetter(r) || unicode.IsDigit(r) }

// OfFile returns the package of the workspace that a file belongs to, or nil: for a test
// file the one that is built for tests.
func (s *Snapshot) OfFile(path string) *Node {
	for _, n := range s.Graph.Nodes {
		if n.Own && slices.Contains(n.Files, path) {
			return n
		}
	}
	for _, n := range s.Graph.Tests {
		if slices.Contains(n.Files, path) {
			return n
		}
	}
	return nil
}
