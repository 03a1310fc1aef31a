package durable

import (
	"cmp"
	"context"
	"errors"
	"slices"
	"strings"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Get returns a call of the host's key.
//
// # Errors
//
// [tool.CodeNotFound] for a call that is not there, or no longer; [tool.CodeInvalidResult] if what is
// stored of it was written by a host that may not; [tool.CodeUnavailable] if the server does not
// answer.
func (c *Calls) Get(ctx context.Context, id string) (Call, error) {
	call, _, err := c.look(ctx, id)
	return call, err
}

// Peek is [Calls.Get] without the result.
//
// # Errors
//
// Those of [Calls.Get].
func (c *Calls) Peek(ctx context.Context, id string) (Call, error) {
	r, at, err := c.get(ctx, id)
	if err != nil {
		return Call{}, err
	}
	call, _ := c.found(ctx, r, at)
	return call, nil
}

// Wait returns a call when it has ended. It goes on while the server is away.
//
// # Errors
//
// Those of [Calls.Get] but [tool.CodeUnavailable]; the context's end. That the call failed is not
// one.
func (c *Calls) Wait(ctx context.Context, id string) (Call, error) {
	changed, end := c.news.of(id)
	defer end()
	var bad time.Time // since when the record is not a call's; its worker writes it again
	for {
		c.listen()
		call, again, err := c.look(ctx, id)
		switch code := tool.CodeOf(err); {
		case ctx.Err() != nil:
			return call, context.Cause(ctx)
		case err == nil && call.State.Ended():
			return call, nil
		case err == nil:
			bad = time.Time{}
		case code == tool.CodeInvalidResult && (bad.IsZero() || time.Since(bad) < c.cfg.Lapse):
			if again = c.cfg.Lapse / 4; bad.IsZero() {
				bad = time.Now()
			}
		case code != tool.CodeUnavailable:
			return call, err
		default:
			again = c.cfg.Lapse / 4
		}
		select {
		case <-ctx.Done():
		case <-changed:
		case <-time.After(again):
		case <-c.worker.life.Done():
			return call, tool.Errorf(tool.CodeUnavailable, "the host ends; the call goes on, and can be waited for by its ID %s", id)
		}
	}
}

// maxList bounds how many calls [Calls.List] returns.
const maxList = 10_000

// List returns calls of the host's key without their results, those submitted last first, at most
// 10,000. What is stored in place of a call by others is left out.
//
// # Errors
//
// [tool.CodeUnavailable] if the server does not answer; the context's end.
func (c *Calls) List(ctx context.Context) ([]Call, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	prefix := owner(c.cfg.Key.Public()) + "."
	w, err := c.store.bucket.Watch(ctx, prefix+"*", jetstream.IgnoreDeletes())
	if err != nil {
		return nil, unavailable("listing", err)
	}
	defer w.Stop() //nolint:errcheck // there is nothing to be done
	out := []Call{}
	for {
		select {
		case <-ctx.Done():
			return nil, context.Cause(ctx)
		case <-time.After(ioTime):
			return nil, unavailable("listing", errors.New("the server does not answer any more"))
		case e, ok := <-w.Updates():
			if !ok {
				return nil, unavailable("listing", errors.New("the server went away"))
			}
			if e == nil {
				return newest(out), nil
			}
			if r, err := openRecord(e.Value()); err == nil && e.Key() == keyOf(c.cfg.Key.Public(), r.ID) && c.believes(r) {
				call, _ := c.seen(ctx, r, e)
				if out = append(out, call); len(out) == 2*maxList {
					out = newest(out)
				}
			}
		}
	}
}

// newest returns the calls that were submitted last, at most 10,000. One that has changed meanwhile counts as it
// came last.
func newest(all []Call) []Call {
	slices.Reverse(all)
	slices.SortStableFunc(all, func(a, b Call) int { return cmp.Or(b.Submitted.Compare(a.Submitted), cmp.Compare(a.ID, b.ID)) })
	all = slices.CompactFunc(all, func(a, b Call) bool { return a.ID == b.ID })
	return all[:min(len(all), maxList)]
}

func (c *Calls) believes(r *record) bool {
	return r.Key == c.cfg.Key.Public() && r.mayBe(c.cfg.Key.Public(), c.cfg.Peers)
}

// NotFound is the error for a call that is not there.
func NotFound(id string) *tool.Error {
	return tool.Errorf(tool.CodeNotFound, "there is no durable call %.40q", id).
		Try("calls are forgotten after some days; submit it again if it is still meant")
}

// get reads the record of an own call.
func (c *Calls) get(ctx context.Context, id string) (*record, jetstream.KeyValueEntry, error) {
	unknown := NotFound(id)
	if !validID().MatchString(id) {
		return nil, nil, unknown
	}
	r, at, err := c.store.read(ctx, keyOf(c.cfg.Key.Public(), id))
	var forged *forgedError
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return nil, nil, unknown
	case errors.As(err, &forged):
		return nil, nil, distrusted(id, err)
	case err != nil:
		return nil, nil, unavailable("looking for call "+id, err)
	case !c.believes(r):
		return nil, nil, distrusted(id, errors.New("it was written by a host that may not run this tool for this one"))
	}
	return r, at, nil
}

func distrusted(id string, err error) error {
	return tool.Errorf(tool.CodeInvalidResult, "what is stored of call %s is not believed: %w", id, err).
		Fix("others can write to the buckets " + StateName + " and " + ResultsName + ": see the permissions of the NATS users")
}

// look returns a call, and after what time to look again if nothing is heard of it.
func (c *Calls) look(ctx context.Context, id string) (Call, time.Duration, error) {
	r, at, err := c.get(ctx, id)
	if err != nil {
		return Call{}, 0, err
	}
	call, again := c.found(ctx, r, at)
	if r.state() == StateDone {
		res, err := c.store.result(ctx, r)
		var forged *forgedError
		if errors.Is(err, jetstream.ErrKeyNotFound) && c.store.removed(ctx, r) {
			return Call{}, 0, tool.Errorf(tool.CodeNotFound, "the result of call %s was fetched, and has made room for others since", id)
		}
		if errors.As(err, &forged) || errors.Is(err, jetstream.ErrKeyNotFound) {
			return Call{}, 0, distrusted(id, err)
		}
		if err != nil {
			return Call{}, 0, unavailable("reading the result of call "+id, err)
		}
		if call.Result = res; r.s.Chunks > 0 {
			c.store.fetched(ctx, r)
		}
	}
	return call, again, nil
}

// found is seen that also ends a call that is not in the queue though its record says so: its host ended in between, or
// the queue was emptied. It would wait until it expires.
func (c *Calls) found(ctx context.Context, r *record, at jetstream.KeyValueEntry) (Call, time.Duration) {
	call, again := c.seen(ctx, r, at)
	now, err := c.store.now(ctx)
	if call.State != StateQueued || r.s != nil || err != nil || now.Sub(at.Created()) < unqueuedAfter(c.cfg.Lapse) {
		return call, again
	}
	info, err := c.store.queue.Info(ctx, jetstream.WithSubjectFilter(r.subject()))
	if err != nil || len(info.State.Subjects) > 0 || c.end(ctx, r, at.Revision(), StateFailed, unqueued(r.order), false) != nil {
		return call, again
	}
	if next, _, err := c.get(ctx, r.ID); err == nil {
		return next.call(), 0
	}
	return call, again
}

// unqueuedAfter is how long a host may take to put a call into the queue whose record it has stored.
func unqueuedAfter(lapse time.Duration) time.Duration { return 2 * lapse }

// unqueued is the error of a call that never came into the queue. The same call may be submitted again.
func unqueued(o *order) *tool.Error {
	return tool.Errorf(tool.CodeUnavailable,
		"the call of %s is not in the queue, and did not run: its host ended before it was, or it was taken out", o.Tool).
		NeverSent().Try("submit it again")
}

// seen returns a call as it is now: one that has expired, or lost its worker, is ended, or queued again.
func (c *Calls) seen(ctx context.Context, r *record, at jetstream.KeyValueEntry) (Call, time.Duration) {
	call := r.call()
	if call.Error != nil && r.s.By != c.cfg.Key.Public() {
		call.Error = foreign(call.Error, r.Tool)
	}
	now, err := c.store.now(ctx)
	if call.State.Ended() || err != nil {
		return call, c.cfg.Lapse
	}
	settle := func(state State, e *tool.Error, unknown bool) (Call, time.Duration) {
		if err := c.end(ctx, r, at.Revision(), state, e, unknown); err != nil {
			return call, c.cfg.Lapse / 4
		}
		if state == StateExpired {
			_ = c.store.queue.Purge(ctx, jetstream.WithPurgeSubject(r.subject())) // who fetches it finds out too
		}
		if next, _, err := c.get(ctx, r.ID); err == nil {
			return next.call(), 0
		}
		return call, c.cfg.Lapse / 4
	}
	queued := at.Created()
	if r.s != nil && !r.s.Queued.IsZero() {
		queued = r.s.Queued
	}
	left := queued.Add(r.ttl()).Sub(now)
	if call.State == StateQueued || call.State == StateWaiting {
		if left <= 0 {
			return settle(StateExpired, expired(r.order), false)
		}
		return call, min(left+time.Millisecond, 30*time.Second)
	}
	lapse := lapseOf(r.s)
	if rest := at.Created().Add(2 * lapse).Sub(now); rest > 0 {
		return call, rest + time.Millisecond
	}
	// The server may have been away, or have lost a leader: the worker has time to report.
	if same := c.news.since(r.ID, at.Revision()); same < lapse {
		return call, lapse - same + time.Millisecond
	}
	if r.Mode == AtLeastOnce && left > 0 { // another worker takes it
		return settle(StateQueued, nil, false)
	}
	return settle(StateFailed, lost(r), true)
}

// foreign is the error of another host as this one can show it.
func foreign(from *tool.Error, name string) *tool.Error {
	e := fault.Received(from)
	e.Tool, e.Err = name, from.Err
	return e
}

func expired(o *order) *tool.Error {
	return tool.Errorf(tool.CodeDeadlineExceeded, "no worker took the call of %s within %v", o.Tool, o.ttl()).
		Try("submit it again, or with more time").Fix("no host that shares this definition of the tool was there, or had a slot")
}

// poison is the error of a call that was begun as often as it may be.
func poison(o *order, attempts int) *tool.Error {
	return tool.Errorf(tool.CodeCrashed, "the call of %s was given to a worker %d times, and none ended it", o.Tool, attempts).
		Try("the call may be what ends them: do not repeat it as it is").Fix("see the logs of the workers")
}

// findOut is the hint of an error of a call that has run, perhaps in part.
const findOut = "find out what it has done before you repeat it"

// lost is the error of a call whose worker is gone.
func lost(r *record) *tool.Error {
	return tool.Errorf(tool.CodeUnavailable, "host %s was lost while it ran %s: %w, and it was not run again",
		sanitize.Line(r.s.Host, maxName), r.Tool, ErrOutcomeUnknown).Try(findOut)
}

// closing is the error of a call whose worker had to end.
func closing(name string, o *order) *tool.Error {
	return tool.Errorf(tool.CodeUnavailable, "host %s ended while it ran %s: %w, and it is not run again", name, o.Tool, ErrOutcomeUnknown).
		Try(findOut)
}

// idOfSubject returns the token and the ID in a subject of the queue.
func idOfSubject(subject string) (tok, id string) {
	tok, id, _ = strings.Cut(strings.TrimPrefix(subject, subjects), ".")
	return tok, id
}
