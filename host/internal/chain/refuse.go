package chain

import "github.com/toolhost/toolhost/pluginsdk/tool"

// refuse returns the error of a call that never leaves the host.
func refuse(stage string, code tool.Code, name, message, hint string) *tool.Error {
	return &tool.Error{Code: code, Tool: name, Stage: stage, Unsent: true, Message: message, Hint: hint}
}

// because adds the cause to a refusal.
func because(e *tool.Error, cause error) *tool.Error {
	e.Err = cause
	return e
}
