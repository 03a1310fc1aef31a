package tool

import (
	"context"

	"github.com/toolhost/toolhost/internal/callctx"
)

// Progress reports how far a call has got.
type Progress struct {
	// Done is the work done, in any unit. It never decreases during a call.
	Done float64 `json:"done"`
	// Total is the total work, in the same unit. Zero: unknown.
	Total float64 `json:"total,omitempty"`
	// Message is one line for people. Empty: none.
	Message string `json:"message,omitempty"`
}

// WithProgress returns a context whose calls report their progress to f. The reports of
// one call arrive one at a time, and none arrives after the call has ended. If f is
// slower than the reports, the oldest are dropped.
func WithProgress(ctx context.Context, f func(Progress)) context.Context {
	return context.WithValue(ctx, callctx.Progress{}, f)
}

// Report sends p to the caller of the call that ctx belongs to. It does nothing if the
// caller does not want reports.
func Report(ctx context.Context, p Progress) {
	if f := callctx.Get[func(Progress)](ctx, callctx.Progress{}); f != nil {
		f(p)
	}
}
