package tools

import (
	"os"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/plugins/introspection/internal/typeutil"
	"github.com/toolhost/toolhost/plugins/introspection/internal/xref"
)

// site is a position that an answer names.
type site struct {
	Position string `json:"position" jsonschema:"path:line:col relative to the workspace"`
	Function string `json:"function,omitempty" jsonschema:"the function that it is in, as pkg.F or pkg.T.M; missing at package level"`
	Line     string `json:"line" jsonschema:"the line's text"`
}

// maxLine bounds the text of a line, in bytes.
const maxLine = 200

// siteReader describes where references are. It reads each file once.
type siteReader struct {
	root  source.Root
	lines map[string][]string
}

func newSiteReader(root source.Root) siteReader { return siteReader{root, map[string][]string{}} }

func (r siteReader) site(ref xref.Reference) site {
	return site{
		Position: r.root.Position(ref.Position, ref.Package), Function: ref.Function,
		Line: r.line(ref.Position.Filename, ref.Position.Line),
	}
}

func (r siteReader) line(path string, number int) string {
	text, ok := r.lines[path]
	if !ok {
		if content, err := os.ReadFile(path); err == nil {
			text = strings.Split(string(content), "\n")
		}
		r.lines[path] = text
	}
	if number > len(text) {
		return ""
	}
	return typeutil.Cut(strings.ToValidUTF8(strings.TrimSpace(text[number-1]), "\uFFFD"), maxLine)
}
