package host

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of a preview. A person waits for it and reads it.
const (
	previewTimeout = 10 * time.Second
	maxPreview     = 4 << 20 // bytes
)

// WithPreviews sets whether approvers may ask tools for previews of calls. A preview
// runs the plugin's code before the call is approved; that it changes nothing is the
// plugin's claim. Default: they may.
func WithPreviews(on bool) Option { return func(o *options) { o.defaults.Previews = on } }

// Preview implements [tool.Previewer]: it asks a tool what a call would do, if an anonymous
// session, or the caller of the host that this one is attached to, may make the call.
//
// # Errors
//
// Those of [Host.Execute] up to the capability; [tool.ErrNoPreview] for a tool without a
// preview, or if the operator has turned previews off.
func (h *Host) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	return h.anonymous.Preview(ctx, call)
}

// Preview is [Host.Preview] of the session.
func (s *Session) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	t := s.traceOf(ctx, call)
	e, err := s.host.find(ctx, call.Name, visitOf(t))
	if err != nil {
		return tool.Result{}, err
	}
	show := s.host.compiler.previewOf(e.entry)
	if show == nil {
		return tool.Result{}, tool.NoPreview(e.def.Name)
	}
	call.Name, call.Session = e.def.Name, t.Caller.Session
	return chain.Wrap(show, chain.Validate(e.input), chain.Authorize(e.def.Permission))(chain.WithTrace(ctx, t), call)
}

// previewOf returns what asks a tool what a call would do; nil: it has no answer, or may
// not be asked. A preview takes one of the plugin's slots like a call, but is not a call: it
// is not retried, and only the call and its approval are on record.
func (c *compiler) previewOf(e *entry) tool.Handler {
	preview := e.preview()
	if preview == nil || !e.settings.Previews {
		return nil
	}
	return chain.Wrap(
		tool.Protect(preview), chain.Limit(maxPreview), chain.Timeout(previewTimeout), chain.Concurrency(c.slotsOf(e)),
	)
}
