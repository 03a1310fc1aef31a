package tool

import (
	"context"

	"github.com/toolhost/toolhost/internal/callctx"
)

// Progress tells how far a call has come.
type Progress struct {
	// Done is what is done, in any unit; it only grows.
	Done float64 `json:"done"`
	// Total is what there is to do, in the same unit; 0: not known.
	Total float64 `json:"total,omitempty"`
	// Message is one line for people; empty: nothing to add.
	Message string `json:"message,omitempty"`
}

// WithProgress lets f be told of the progress of the calls that the context is
// given to. One call's reports come one after the other and none comes after
// the call has ended; where f is slower than they come, the oldest are dropped.
func WithProgress(ctx context.Context, f func(Progress)) context.Context {
	return context.WithValue(ctx, callctx.Progress{}, f)
}

// ProgressFrom is who wants to be told of the call's progress; nil: nobody.
func ProgressFrom(ctx context.Context) func(Progress) {
	f, _ := ctx.Value(callctx.Progress{}).(func(Progress))
	return f
}

// Report tells the caller how far the call has come. Where nobody wants to know
// it does nothing.
func Report(ctx context.Context, p Progress) {
	if f := ProgressFrom(ctx); f != nil {
		f(p)
	}
}
