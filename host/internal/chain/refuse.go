package chain

import "github.com/toolhost/toolhost/pluginsdk/tool"

// refuse returns the error for a call that is refused within the host.
func refuse(stage string, code tool.Code, name, message, hint string) *tool.Error {
	return tool.Errorf(code, "%s", message).Of(name, "").At(stage).NeverSent().Try(hint)
}

// forOperator adds what the operator can do, which models are not told.
func forOperator(e *tool.Error, hint string) *tool.Error {
	e.OperatorHint = hint
	return e
}

// withCause adds a cause to an error.
func withCause(e *tool.Error, cause error) *tool.Error {
	e.Err = cause
	return e
}
