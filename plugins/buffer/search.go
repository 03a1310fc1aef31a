package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"regexp"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const searchDescription = `Searches a text file and returns line, column and text of each match, in order. Lines and columns count from 1, columns in characters.

A match lies within one line, and matches do not overlap. At most 1,000 are returned. Only the first MiB of a line is searched.`

// Bounds of what a search returns.
const (
	maxMatches   = 1000
	maxMatchText = 512 // bytes of a match
)

type searchIn struct {
	Pattern    string `json:"pattern" jsonschema:"plain text, case included, or a regular expression"`
	Buffer     string `json:"buffer,omitempty" jsonschema:"the file, relative to the workspace; default: the one last read, searched or written in this session"`
	Regex      bool   `json:"regex,omitempty" jsonschema:"the pattern is a regular expression in RE2's syntax, such as (?i)todo"`
	AllMatches *bool  `json:"all_matches,omitempty" jsonschema:"return all matches and not only the first"`
}

type searchOut struct {
	Path      string  `json:"path" jsonschema:"the file, relative to the workspace root"`
	Matches   []match `json:"matches"`
	Truncated bool    `json:"truncated" jsonschema:"whether there are more matches than are returned"`
}

type match struct {
	Line    int    `json:"line" jsonschema:"from 1"`
	Column  int    `json:"column" jsonschema:"where the match starts, in characters from 1"`
	Text    string `json:"text" jsonschema:"the text that matched, at most its first 512 bytes"`
	Context string `json:"context" jsonschema:"the line with the match, or the part of a long line around it"`
}

// Text returns the result for a reader: LINE:COLUMN: the line.
func (o searchOut) Text() string {
	if len(o.Matches) == 0 {
		return "No match in " + workspace.Show(o.Path) + ".\n"
	}
	var b strings.Builder
	for _, m := range o.Matches {
		fmt.Fprintf(&b, "%d:%d: %s\n", m.Line, m.Column, m.Context)
	}
	if o.Truncated {
		fmt.Fprintf(&b, "There are more; these are the first %d (make the pattern longer).\n", len(o.Matches))
	}
	return b.String()
}

func (b *buffers) searchTool() tool.Tool {
	return readable.Func("search_in_buffer", searchDescription, workspace.In(b.current, b.search),
		pluginsdk.Title("Search a file"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("buffer"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("pattern", `{"minLength": 1, "maxLength": 4096}`),
		pluginsdk.Argument("buffer", bufferPath),
		pluginsdk.Argument("regex", `{"default": false}`),
		pluginsdk.Argument("all_matches", `{"type": "boolean", "default": true}`),
	)
}

func (b *buffers) search(ctx context.Context, ws *workspace.Workspace, in searchIn) (searchOut, error) {
	pattern, err := lines.Compile(in.Pattern, lines.Options{Literal: !in.Regex})
	if err != nil {
		return searchOut{}, err
	}
	out := searchOut{Matches: []match{}}
	err = b.open(ctx, ws, in.Buffer, func(path string, s *lines.Scanner) (err error) {
		if out.Path, err = workspace.Clean(path); err != nil {
			return err
		}
		return out.find(s, pattern, in.AllMatches != nil && !*in.AllMatches)
	})
	return out, err
}

// find adds the matches, or the first.
func (o *searchOut) find(s *lines.Scanner, pattern *regexp.Regexp, first bool) error {
	for {
		l, err := s.Next()
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("%s: %w", workspace.Show(o.Path), err)
		}
		for _, at := range l.Find(pattern, maxMatches+1) {
			if len(o.Matches) == maxMatches {
				o.Truncated = true
				return nil
			}
			o.Matches = append(o.Matches, match{
				Line: l.Number, Column: lines.Column(l.Text, at[0]),
				Text:    lines.Text(l.Text[at[0]:min(at[1], at[0]+maxMatchText)]),
				Context: lines.Around(l.Text, at[0]),
			})
			if first {
				return nil
			}
		}
	}
}
