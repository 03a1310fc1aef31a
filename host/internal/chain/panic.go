package chain

import (
	"fmt"
	"runtime/debug"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Panic is the error that stands for a panic in code which an embedding program has
// given to the host.
type Panic struct {
	// Where is what panicked, such as "the approver".
	Where string
	// Value is what it panicked with, as text fit to be shown.
	Value string
	// Stack is for logs and not for a model.
	Stack string
}

func (p *Panic) Error() string { return p.Where + " panicked: " + p.Value }

// maxPanicValue bounds a panic's text, in bytes.
const maxPanicValue = 300

// Recovered is the error of a panic whose value v was recovered.
func Recovered(where string, v any) *Panic {
	return &Panic{Where: where, Value: sanitize.Line(fmt.Sprint(v), maxPanicValue), Stack: string(debug.Stack())}
}
