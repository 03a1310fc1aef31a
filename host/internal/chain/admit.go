package chain

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/share"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Admit takes a place for a call until it has ended, also while it waits: for a person, for a plugin,
// or for its turn. A nil pool skips the step. It is outside of [Audit.End]: what is refused here may be a
// flood, which has the lines of refusals.
//
// # Errors
//
// [tool.CodeResourceExhausted] if the caller has its share of the places, or there are none left.
func Admit(places *share.Pool, refusals *Refusals) Middleware {
	if places == nil {
		return nil
	}
	return func(next tool.Handler) tool.Handler {
		return func(ctx context.Context, call tool.Call) (tool.Result, error) {
			t := traceOf(ctx)
			c := t.caller()
			own, others, ok := places.Take(c.Key, 1)
			if !ok {
				err := noPlace(call.Name, own, others, places.Most())
				line := record(audit.End, t, call)
				line.Code, line.Message = err.Code, err.Error()
				refusals.Note(c.Key, line)
				return tool.Result{}, err
			}
			defer places.Give(c.Key, 1)
			res, err := next(ctx, call)
			if err != nil && isBusy(err) {
				refusals.count(c, err) // it has a line of its own
			}
			return res, err
		}
	}
}

// noPlace says whose calls leave no place: the names of others are not for callers.
func noPlace(name string, own, others, most int) *tool.Error {
	why := "this caller has its share of the calls that the host takes at a time"
	if own < others {
		why = "the host has as many calls as it takes at a time"
	}
	return refuse(callstage.Limit, tool.CodeResourceExhausted, name,
		fmt.Sprintf("tool %s did not run: %s: %d of this caller and %d of others are in progress, of %d",
			name, why, own, others, most),
		"try again when some have ended")
}

// isBusy reports whether a call was refused because of other calls.
func isBusy(err error) bool {
	var e *tool.Error
	return errors.As(err, &e) && e.Stage == callstage.Limit && e.Code == tool.CodeResourceExhausted
}
