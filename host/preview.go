package host

import (
	"time"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Bounds of a preview. Somebody reads it, and waits for it.
const (
	previewTimeout = 10 * time.Second
	maxPreview     = 4 << 20 // bytes
)

// WithPreviews says whether approvers may ask tools for previews of calls. A preview
// runs the plugin's code before anybody has said yes; that it changes nothing is the
// plugin's word. Default: they may.
func WithPreviews(on bool) Option { return func(o *options) { o.defaults.Previews = on } }

// previewOf asks a tool what a call would do; nil: nobody may, or it has no answer. It
// takes one of the plugin's slots like a call, and is no call: it is not retried, and
// what is on record is whether the call was approved.
func (h *Host) previewOf(e *entry) tool.Handler {
	if e.preview == nil || !h.opts.defaults.Previews {
		return nil
	}
	return tool.Chain(tool.Protect(e.preview), chain.Limit(maxPreview), chain.Timeout(previewTimeout), chain.Concurrency(h.slotsOf(e)))
}
