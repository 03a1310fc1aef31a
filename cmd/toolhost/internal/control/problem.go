package control

import (
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Problem is an error as it travels. The chain of causes stays behind, its text does
// not.
type Problem struct {
	Code       tool.Code     `json:"code"`
	Tool       string        `json:"tool,omitempty"`
	Plugin     string        `json:"plugin,omitempty"`
	Stage      string        `json:"stage,omitempty"`
	Message    string        `json:"message"`
	Hint       string        `json:"hint,omitempty"`
	Detail     string        `json:"detail,omitempty"`
	RetryAfter tool.Duration `json:"retry_after,omitempty"`
}

// problemOf is nil for no error.
func problemOf(err error) *Problem {
	if err == nil {
		return nil
	}
	e := tool.AsError(err)
	text := err.Error()
	if e.Hint != "" {
		text = strings.Replace(text, " ("+e.Hint+")", "", 1)
	}
	return &Problem{
		e.Code, e.Tool, clip(e.Plugin), clip(e.Stage), clip(text), clip(e.Hint), clip(e.Detail), tool.Duration(e.RetryAfter),
	}
}

// maxText bounds each text of an error, in bytes: a plugin may write messages of any
// length.
const maxText = 64 << 10

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

// Error is the problem as an error of this process.
func (p Problem) Error() *tool.Error {
	return &tool.Error{
		Code: p.Code, Tool: p.Tool, Plugin: p.Plugin, Stage: p.Stage, Message: p.Message, Hint: p.Hint, Detail: p.Detail,
		RetryAfter: time.Duration(p.RetryAfter),
	}
}
