package host

import (
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

// previewOf returns what asks a tool what a call would do; nil: it has no answer, or may
// not be asked. A preview takes one of the plugin's slots like a call, but is not a call: it
// is not retried, and only the call and its approval are on record.
func (c *compiler) previewOf(e *entry) tool.Handler {
	if e.preview == nil || !e.settings.Previews {
		return nil
	}
	return chain.Wrap(
		tool.Protect(e.preview), chain.Limit(maxPreview), chain.Timeout(previewTimeout), chain.Concurrency(c.slotsOf(e)),
	)
}
