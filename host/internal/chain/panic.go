package chain

import (
	"fmt"
	"runtime/debug"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Panic is the error for a panic in code that an embedding program has given to
// the host.
type Panic struct {
	// Where names the code that panicked, such as "the approver".
	Where string
	// Value is the value of the panic as printable text.
	Value string
	// Stack is for logs, not for a model.
	Stack string
}

func (p *Panic) Error() string { return p.Where + " panicked: " + p.Value }

// maxPanicValue limits the text of a panic, in bytes.
const maxPanicValue = 300

// Recovered returns the error for a recovered panic with the value v.
func Recovered(where string, v any) *Panic {
	return &Panic{Where: where, Value: sanitize.Line(fmt.Sprint(v), maxPanicValue), Stack: string(debug.Stack())}
}
