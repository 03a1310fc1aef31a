package chain

import "github.com/toolhost/toolhost/pluginsdk/tool"

// Middleware wraps a handler in another step of a call.
type Middleware func(tool.Handler) tool.Handler

// Wrap wraps h so that the first middleware is the outermost. It leaves out nil ones.
func Wrap(h tool.Handler, ms ...Middleware) tool.Handler {
	for i := len(ms) - 1; i >= 0; i-- {
		if ms[i] != nil {
			h = ms[i](h)
		}
	}
	return h
}
