package main

import (
	"context"
	"fmt"
	"os"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxPreviewed bounds a preview in a question, in characters.
const maxPreviewed = 20000

// preview is what the tool says of the call, for a question; empty: it has none. It
// is the plugin's word, and says so.
func (q question) preview(ctx context.Context, r policy.Request) string {
	if r.Preview == nil {
		return ""
	}
	res, err := r.Preview(ctx)
	switch {
	case tool.CodeOf(err) == tool.CodeNotFound:
		return ""
	case err != nil:
		return fmt.Sprintf("  preview:   it could not be made: %s\n", shorten(firstLine(tool.AsError(err).Message), 400))
	case res.IsError:
		return fmt.Sprintf("  preview:   the call would fail: %s\n", shorten(firstLine(res.Text()), 400))
	}
	text := strings.TrimRight(sanitize.Text(res.Text()), "\n")
	more := ""
	if n := utf8.RuneCountInString(text); n > maxPreviewed {
		text, more = string([]rune(text)[:maxPreviewed]), fmt.Sprintf("    (%d more characters are not shown)\n", n-maxPreviewed)
	}
	return "  preview, as the plugin tells it:\n" + indent(q.diff(text), "    ") + "\n" + more
}

// diff colours the lines of a unified diff, where that is welcome.
func (q question) diff(text string) string {
	if !q.colored {
		return text
	}
	lines := strings.Split(text, "\n")
	for i, line := range lines {
		code := ""
		switch {
		case strings.HasPrefix(line, "--- "), strings.HasPrefix(line, "+++ "):
			code = "1"
		case strings.HasPrefix(line, "@@"):
			code = "36"
		case strings.HasPrefix(line, "+"):
			code = "32"
		case strings.HasPrefix(line, "-"):
			code = "31"
		}
		if code != "" {
			lines[i] = "\x1b[" + code + "m" + line + "\x1b[0m"
		}
	}
	return strings.Join(lines, "\n")
}

// colorWelcome reports whether a terminal may be given colours
// (https://no-color.org).
func colorWelcome() bool { return os.Getenv("NO_COLOR") == "" && os.Getenv("TERM") != "dumb" }
