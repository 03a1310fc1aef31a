package main

import (
	"cmp"
	"go/token"
	"os"
	"path/filepath"
	"slices"
	"strings"
)

// site is a place that an answer names.
type site struct {
	Position string `json:"position" jsonschema:"path:line:col relative to the workspace"`
	Function string `json:"function,omitempty" jsonschema:"the function that it is in, as pkg.F or pkg.T.M; missing at package level"`
	Line     string `json:"line" jsonschema:"the line's text"`
}

const (
	// maxSites bounds each list of sites.
	maxSites = 500
	// maxLine bounds the text of a line, in bytes.
	maxLine = 200
)

func dirOf(file string) string { return filepath.Dir(file) }

// sorted puts findings in the order of their positions, each place once.
func sorted(found []finding) []finding {
	slices.SortFunc(found, func(a, b finding) int {
		return cmp.Or(strings.Compare(a.path(), b.path()), cmp.Compare(a.line, b.line), cmp.Compare(a.column, b.column))
	})
	return slices.CompactFunc(found, func(a, b finding) bool {
		return a.path() == b.path() && a.line == b.line && a.column == b.column
	})
}

func (f finding) path() string { return f.index.files[f.file] }

// lines reads lines of files, each file once.
type lines map[string][]string

func (l lines) at(path string, line int32) string {
	text, ok := l[path]
	if !ok {
		content, err := os.ReadFile(path)
		if err == nil {
			text = strings.Split(string(content), "\n")
		}
		l[path] = text
	}
	if int(line) > len(text) {
		return ""
	}
	return cut(strings.ToValidUTF8(strings.TrimSpace(text[line-1]), "\uFFFD"), maxLine)
}

// site shows where a finding is.
func (w *workspace) site(f finding, text lines) site {
	out := site{
		Position: w.position(token.Position{Filename: f.path(), Line: int(f.line), Column: int(f.column)}, f.index.path),
		Line:     text.at(f.path(), f.line),
	}
	if f.function != "" {
		out.Function = f.index.pkg.Name() + "." + f.function
	}
	return out
}

// faults are what is wrong with the packages that were searched, at most
// [maxErrors].
func (p *program) faults() []string {
	var out []string
	for _, x := range p.indexes {
		out = append(out, x.errors...)
	}
	return out[:min(len(out), maxErrors)]
}
