package terminal

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxPreview is how much of a preview a question shows, in characters.
const maxPreview = 20000

// preview returns the preview of a call, marked as the plugin's word; empty if the tool has
// none. It reports whether the call would succeed, as far as is known.
func (a Approver) preview(ctx context.Context, r policy.Request) (text string, ok bool) {
	if r.Preview == nil {
		return "", true
	}
	res, err := r.Preview(ctx)
	switch {
	case tool.CodeOf(err) == tool.CodeNotFound:
		return "", true
	case err != nil:
		return fmt.Sprintf("  preview:   it could not be made: %s\n", output.Shorten(output.FirstLine(tool.AsError(err).Message), 400)), true
	case res.IsError:
		return "", false
	}
	text, omitted := cut(strings.TrimRight(sanitize.Text(res.Text()), "\n"), maxPreview)
	more := ""
	if omitted > 0 {
		more = fmt.Sprintf("    (%d more characters are not shown)\n", omitted)
	}
	return "  preview, as the plugin tells it:\n" + output.Indent(Diff(text, a.Colored), "    ") + "\n" + more, true
}

// Diff colors the lines of a unified diff, if they are to be colored.
func Diff(text string, colored bool) string {
	if !colored {
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
