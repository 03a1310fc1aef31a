// Package early lets whoever serves while a host loads its plugins have tools as they are ready.
package early

import "context"

type (
	key   struct{}
	calls struct{}
)

// With returns a context by which loading publishes tools without waiting for plugins that are slow. It calls
// begun when the names of all plugins are taken, and nothing is known of their tools yet.
func With(ctx context.Context, begun func()) context.Context {
	return context.WithValue(ctx, key{}, begun)
}

// Begun returns that function; nil: tools are published when all plugins have told theirs.
func Begun(ctx context.Context) func() {
	begun, _ := ctx.Value(key{}).(func())
	return begun
}

// WithCall returns a context by which loading also prepares the start of a plugin, as a call is to follow.
func WithCall(ctx context.Context) context.Context { return context.WithValue(ctx, calls{}, true) }

// Calls reports whether a call is to follow.
func Calls(ctx context.Context) bool { return ctx.Value(calls{}) != nil }
