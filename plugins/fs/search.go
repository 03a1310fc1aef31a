package main

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const searchDescription = `Searches the files of the workspace, line by line, and returns the matching lines, sorted by path.

It skips what ripgrep skips: files ignored by .gitignore, .ignore, .rgignore and .git/info/exclude, hidden files and directories, symbolic links, and binary files (with a NUL byte, unless they are UTF-16 with a byte order mark). ignored and hidden search these too, except for .git. A file given as path is always searched.

Each line has its number, a matching one also the column of its first match, in characters from 1. Long lines are shown in part. At most 1 MiB of text is returned.`

// Bounds of a search.
const (
	defaultMatches = 200
	maxMatches     = 5000
	maxContext     = 20
	maxFound       = 1 << 20 // bytes of lines
)

type searchIn struct {
	Pattern    string `json:"pattern" jsonschema:"a regular expression (RE2's syntax), matched within one line"`
	Path       string `json:"path,omitempty" jsonschema:"the directory or file to search, relative to the workspace"`
	Glob       string `json:"glob,omitempty" jsonschema:"a pattern such as *.go that the file's name must match, or, with a slash, its path, as in src/**/*.{c,h}"`
	Literal    bool   `json:"literal,omitempty" jsonschema:"the pattern is plain text"`
	IgnoreCase bool   `json:"ignore_case,omitempty" jsonschema:"ignore case"`
	Context    int    `json:"context,omitempty" jsonschema:"lines to show before and after each match"`
	Limit      int    `json:"limit,omitempty" jsonschema:"the most matching lines to return"`
	Hidden     bool   `json:"hidden,omitempty" jsonschema:"search files and directories whose names start with a dot, too"`
	Ignored    bool   `json:"ignored,omitempty" jsonschema:"search files that .gitignore and the like ignore, too"`
}

type searchOut struct {
	Files      []searchFile `json:"files" jsonschema:"the files with matching lines"`
	Matches    int          `json:"matches" jsonschema:"how many matching lines are returned"`
	Truncated  bool         `json:"truncated" jsonschema:"whether there is more than is returned"`
	Searched   int          `json:"searched" jsonschema:"how many files were searched"`
	Binary     int          `json:"binary,omitempty" jsonschema:"how many files were skipped, or not searched to the end, because they are binary"`
	Partly     []string     `json:"partly,omitempty" jsonschema:"files with lines longer than 1 MiB, of which only the first MiB was searched; a match that reaches its end is left out"`
	Unreadable []string     `json:"unreadable,omitempty" jsonschema:"files and directories that could not be read"`
}

type searchFile struct {
	Path  string       `json:"path" jsonschema:"relative to the workspace root"`
	Lines []searchLine `json:"lines"`
}

type searchLine struct {
	Line   int    `json:"line" jsonschema:"its number, from 1"`
	Column int    `json:"column,omitempty" jsonschema:"where the first match starts, in characters from 1; missing for a line of context"`
	Text   string `json:"text" jsonschema:"the line, or the part of a long one around the match"`
}

// Text returns the result for a reader: PATH:LINE:COLUMN: TEXT for a match, and
// PATH-LINE- TEXT for a line of context.
func (o searchOut) Text() string {
	var b strings.Builder
	for _, f := range o.Files {
		last := 0
		for _, l := range f.Lines {
			if last > 0 && l.Line > last+1 && o.hasContext() {
				b.WriteString("--\n")
			}
			if last = l.Line; l.Column > 0 {
				fmt.Fprintf(&b, "%s:%d:%d: %s\n", workspace.Show(f.Path), l.Line, l.Column, l.Text)
			} else {
				fmt.Fprintf(&b, "%s-%d- %s\n", workspace.Show(f.Path), l.Line, l.Text)
			}
		}
	}
	if o.Matches == 0 {
		fmt.Fprintf(&b, "No match in %d files.\n", o.Searched)
		if o.Binary > 0 {
			fmt.Fprintf(&b, "Binary files that were not searched: %d.\n", o.Binary)
		}
	}
	if o.Truncated {
		b.WriteString("There are more (raise limit, or narrow the search with path, glob or a longer pattern).\n")
	}
	for _, path := range o.Partly {
		fmt.Fprintf(&b, "%s has lines longer than 1 MiB, which were searched in part.\n", workspace.Show(path))
	}
	for _, path := range o.Unreadable {
		fmt.Fprintf(&b, "Could not read %s.\n", workspace.Show(path))
	}
	return b.String()
}

func (o searchOut) hasContext() bool {
	n := 0
	for _, f := range o.Files {
		n += len(f.Lines)
	}
	return n > o.Matches
}

func searchTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.search", searchDescription, workspace.In(current, search),
		pluginsdk.Title("Search files"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("pattern", `{"minLength": 1, "maxLength": 4096}`),
		pluginsdk.Argument("path", dirPath),
		pluginsdk.Argument("context", fmt.Sprintf(`{"minimum": 0, "maximum": %d, "default": 0}`, maxContext)),
		pluginsdk.Argument("limit", fmt.Sprintf(`{"minimum": 1, "maximum": %d, "default": %d}`, maxMatches, defaultMatches)),
	)
}

func search(ctx context.Context, ws *workspace.Workspace, in searchIn) (searchOut, error) {
	if in.Path == "" {
		in.Path = "."
	}
	if in.Limit == 0 {
		in.Limit = defaultMatches
	}
	if in.Limit < 1 || in.Limit > maxMatches || in.Context < 0 || in.Context > maxContext {
		return searchOut{}, fmt.Errorf("limit must be between 1 and %d and context between 0 and %d, not %d and %d",
			maxMatches, maxContext, in.Limit, in.Context)
	}
	pattern, err := lines.Compile(in.Pattern, lines.Options{Literal: in.Literal, IgnoreCase: in.IgnoreCase})
	if err != nil {
		return searchOut{}, err
	}
	match, err := matcher(in.Glob)
	if err != nil {
		return searchOut{}, err
	}
	s := &searcher{ws: ws, pattern: pattern, context: in.Context, limit: in.Limit, out: searchOut{Files: []searchFile{}}}
	isDir, err := ws.IsDir(in.Path)
	switch {
	case err != nil:
		return searchOut{}, err
	case isDir:
		err = s.tree(ctx, in, match)
	default:
		err = s.named(ctx, in.Path)
	}
	return s.out, err
}
