package chain

import "github.com/toolhost/toolhost/pluginsdk/tool"

// Middleware adds a step of a call to a handler.
type Middleware = tool.Middleware

// Wrap wraps h so that the first middleware is the outermost. It skips nil
// ones.
func Wrap(h tool.Handler, ms ...Middleware) tool.Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i] != nil {
			h = ms[i](h)
		}
	}
	return h
}
