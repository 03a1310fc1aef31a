package host

import (
	"context"
	"crypto/sha256"
	"slices"
	"sync"
	"unicode/utf8"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// How much a session remembers of calls with a key.
// maxIdempotencyKey bounds [tool.Call.IdempotencyKey], in bytes.
const maxIdempotencyKey = 256

const (
	maxReplays     = 256
	maxReplayBytes = 16 << 20
)

// replays are how the calls of a session that had a key ended.
type replays struct {
	mu    sync.Mutex // never held while waiting
	byKey map[string]*replay
	order []string // of the keys of calls that have ended, the oldest first
	bytes int
}

// replay is a call with a key. Res and err are set when done is closed.
type replay struct {
	tool      string
	arguments [sha256.Size]byte
	done      chan struct{}
	size      int
	res       tool.Result
	err       error
	forgotten bool // it never reached its tool
}

// checkKey refuses a call whose idempotency key is too long, or would be another one on the wire.
func checkKey(call tool.Call) error {
	if len(call.IdempotencyKey) <= maxIdempotencyKey && utf8.ValidString(call.IdempotencyKey) {
		return nil
	}
	return tool.Errorf(tool.CodeInvalidArguments,
		"Invalid tool call: an idempotency key of %d bytes, which must be at most %d and UTF-8", len(call.IdempotencyKey),
		maxIdempotencyKey).Of(call.Name, "").At(callstage.Validate).NeverSent().Try("use a short random text")
}

// once runs a call with a key, unless it has run: then it returns what that call returned.
// The permission is checked again, as it may have been revoked.
func (r *replays) once(ctx context.Context, key string, e *compiled, call tool.Call) (tool.Result, error) {
	this := &replay{tool: e.def.Name, arguments: sha256.Sum256(call.Arguments), done: make(chan struct{})}
	for {
		first, mine := r.claim(key, this)
		if mine {
			return r.run(ctx, key, this, e, call)
		}
		if first.tool != this.tool || first.arguments != this.arguments {
			return tool.Result{}, tool.Errorf(tool.CodeInvalidArguments,
				"Invalid tool call: the idempotency key %.64q belongs to another call", key).Of(call.Name, "").
				At(callstage.Validate).NeverSent().
				Try("use a new key for each call, and the same one only to repeat a call as it was")
		}
		replayed := func(ctx context.Context, call tool.Call) (tool.Result, error) { return first.wait(ctx, call) }
		res, err := chain.Wrap(replayed, chain.Authorize(e.def.Permission))(ctx, call)
		if !first.isForgotten() {
			return res, err
		}
	}
}

// claim returns the call that has a key, which is this one if no other has it.
func (r *replays) claim(key string, this *replay) (first *replay, mine bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if there := r.byKey[key]; there != nil {
		return there, false
	}
	if r.byKey == nil {
		r.byKey = map[string]*replay{}
	}
	r.byKey[key] = this
	return this, true
}

func (r *replays) run(ctx context.Context, key string, this *replay, e *compiled, call tool.Call) (tool.Result, error) {
	this.forgotten = true // unless it returns
	defer func() { r.end(key, this) }()
	this.res, this.err = e.chain(ctx, call)
	t := chain.TraceFrom(ctx)
	unsent := this.err != nil && tool.AsError(this.err).Unsent
	this.forgotten = unsent || t == nil || t.Attempts == 0
	this.size = wire.ResultSize(this.res)
	return this.copy()
}

// end remembers how a call ended, and forgets the oldest that are too many.
func (r *replays) end(key string, this *replay) {
	r.mu.Lock()
	defer r.mu.Unlock()
	defer close(this.done)
	if this.forgotten {
		delete(r.byKey, key)
		return
	}
	r.order = append(r.order, key)
	r.bytes += this.size
	for len(r.order) > maxReplays || r.bytes > maxReplayBytes && len(r.order) > 1 {
		oldest := r.order[0]
		r.order = slices.Delete(r.order, 0, 1)
		r.bytes -= r.byKey[oldest].size
		delete(r.byKey, oldest)
	}
}

// wait returns what the call returned, when it has.
func (r *replay) wait(ctx context.Context, call tool.Call) (tool.Result, error) {
	select {
	case <-r.done:
		return r.copy()
	case <-ctx.Done():
		return tool.Result{}, tool.Errorf(tool.CodeOf(ctx.Err()),
			"the call of tool %s with the same idempotency key had not ended: %v", call.Name, deadline.Cause(ctx)).
			Of(call.Name, "").At(callstage.Execute).NeverSent().Because(ctx.Err())
	}
}

// isForgotten reports whether the call has ended without reaching its tool.
func (r *replay) isForgotten() bool {
	select {
	case <-r.done:
		return r.forgotten
	default:
		return false
	}
}

// copy returns the call's result, which its caller may change.
func (r *replay) copy() (tool.Result, error) {
	res := r.res
	res.Content, res.Structured = slices.Clone(res.Content), slices.Clone(res.Structured)
	return res, r.err
}
