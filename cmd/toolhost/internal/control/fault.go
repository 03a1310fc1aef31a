package control

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxText bounds each text of an error, in bytes: a plugin may write messages of any length.
const maxText = 64 << 10

// sentError returns err as it is sent; nil for nil. The message keeps the text of the causes,
// which are not sent.
func sentError(err error) *tool.Error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	text := err.Error()
	if advice := e.Advice(); advice != "" {
		text = strings.Replace(text, " ("+advice+")", "", 1)
	}
	e.Message = clip(text)
	for _, text := range []*string{&e.Plugin, &e.Stage, &e.Hint, &e.OperatorHint, &e.Detail} {
		*text = clip(*text)
	}
	return &e
}

// SentFaults returns errors as they are sent.
func SentFaults(faults []*tool.Error) []*tool.Error {
	var out []*tool.Error
	for _, f := range faults {
		out = append(out, sentError(f))
	}
	return out
}

func clip(s string) string {
	if len(s) <= maxText {
		return s
	}
	for piece := range sanitize.Pieces(s, maxText) {
		s = fmt.Sprintf("%s... (%d more bytes)", piece, len(s)-len(piece))
		break
	}
	return s
}
