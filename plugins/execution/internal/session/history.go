package session

import (
	"slices"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

// Entry is one form of the history.
type Entry struct {
	Number  int    `json:"number" jsonschema:"of the form in the session"`
	Tool    string `json:"tool" jsonschema:"eval_form or compile_form"`
	Package string `json:"package,omitempty"`
	Form    string `json:"form"`
	OK      bool   `json:"ok"`
	Result  string `json:"result" jsonschema:"values, or what went wrong"`
	Time    string `json:"time" jsonschema:"when it began"`
	Took    string `json:"took"`
}

// Failure is a form that failed.
type Failure struct {
	Number  int    `json:"number" jsonschema:"of the form in the session"`
	Tool    string `json:"tool" jsonschema:"eval_form or compile_form"`
	Package string `json:"package,omitempty"`
	Form    string `json:"form"`
	Kind    string `json:"kind" jsonschema:"compile, panic, exit, time, memory, processes or other"`
	Message string `json:"message"`
	Stack   string `json:"stack,omitempty" jsonschema:"goroutine stacks, if the program crashed"`
	Time    string `json:"time"`
}

// Bounds of the history, in bytes except for MaxHistory.
const (
	MaxHistory = 100 // entries
	// MaxStack bounds the stack of a failure.
	MaxStack       = 16 << 10
	maxHistorySize = 128 << 10
	maxForm        = 4 << 10
	maxResult      = 1 << 10
)

// Add adds an entry to the history and drops the oldest that there is no room for.
func (s *Session) Add(e Entry) {
	e.Form, e.Result = truncate.Counted(e.Form, maxForm), truncate.Counted(e.Result, maxResult)
	s.History = append(s.History, e)
	size := 0
	for i, e := range slices.Backward(s.History) {
		size += len(e.Form) + len(e.Result) + len(e.Package)
		if size > maxHistorySize || len(s.History)-i > MaxHistory {
			s.History = slices.Clone(s.History[i+1:])
			return
		}
	}
}

// Fail sets the last failure.
func (s *Session) Fail(f Failure) {
	f.Form = truncate.Counted(f.Form, maxForm)
	f.Message = truncate.Counted(f.Message, form.MaxMessage)
	f.Stack = truncate.Counted(f.Stack, MaxStack)
	s.Last = &f
}
