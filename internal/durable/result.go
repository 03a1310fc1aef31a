package durable

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/toolhost/toolhost/internal/fault"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// persist stores an end, and goes on while the server is away.
func (j *job) persist(s status, text []byte) (err error) {
	last := time.Now().Add(giveUp)
	p := pieces{claim: s.Claim, rest: text}
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second, j.lapse/3) {
		if err = nil; len(text) > inlineResult && len(p.rest) > 0 {
			j.alongside(func() { err = j.putResult(&p) })
			if s.Chunks = p.stored; isFull(err) {
				s, text, err = unkept(s, j.Tool, err), nil, nil
			}
		}
		if err == nil {
			var next *record
			inline := text
			if s.Chunks > 0 {
				inline = nil
			}
			if next, err = j.record.with(j.cfg.Key, s, inline); err == nil {
				if err = j.replace(next); isFull(err) && s.State == StateDone {
					s, text = unkept(s, j.Tool, err), nil
					j.discard(&p)
					continue
				}
			}
		}
		if errors.Is(context.Cause(j.ctx), errClosing) && time.Until(last) > ioTime { // Close waits for it
			last = time.Now().Add(ioTime)
		}
		if errors.Is(err, errLost) {
			j.discard(&p)
			return err
		}
		if err == nil || time.Now().After(last) || j.cfg.Conn.IsClosed() {
			return err
		}
		time.Sleep(pause) // only who waits for the call waits for it
		if j.Mode == AtLeastOnce {
			_ = j.msg.InProgress()
		}
	}
}

// unkept is the end of a call whose result there is no room for.
func unkept(s status, name string, err error) status {
	e := tool.Errorf(tool.CodeResourceExhausted, "%s has run, and its result of %d bytes could not be kept: %w", name, s.Size, err).
		Of(name, "").Try(findOut).Fix("raise nats.queue.bytes, or lower nats.queue.keep; toolhost doctor says how full the results are")
	s.State, s.Error, s.Size, s.Sum, s.Chunks = StateFailed, fault.Sent(e), 0, "", 0
	return s
}

// pieces are those of a large result that are not stored yet. An attempt goes on where the one before it failed: what
// that stored takes room, and would count twice.
type pieces struct {
	claim  string
	rest   []byte
	roomy  bool // there is room for all
	stored int
}

// discard removes what is stored of a result that does not count. What is left goes after nats.queue.keep.
func (j *job) discard(p *pieces) {
	if p.roomy {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), ioTime)
		defer cancel()
		_ = j.store.remove(ctx, keyOf(j.Key, j.ID), mark{p.claim, p.stored + 1})
	}
}

// putResult stores a large result. One that does not fit leaves nothing.
func (j *job) putResult(p *pieces) error {
	key := keyOf(j.Key, j.ID)
	if !p.roomy {
		ctx, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), ioTime)
		err := j.store.makeRoom(ctx, len(p.rest), len(p.rest)/j.store.chunk+1, j.cfg.Fetched)
		cancel()
		if err != nil {
			return err
		}
		p.roomy = true
	}
	for len(p.rest) > 0 {
		if errors.Is(context.Cause(j.ctx), errCanceled) { // the call is another worker's, or has ended
			return errLost
		}
		n := min(len(p.rest), j.store.chunk)
		ctx, cancel := j.io()
		_, err := j.store.results.Put(ctx, chunkKey(key, p.claim, p.stored), p.rest[:n])
		cancel()
		if isFull(err) {
			j.discard(p)
		}
		if err != nil {
			return fmt.Errorf("chunk %d: %w", p.stored, err)
		}
		p.rest = p.rest[n:]
		p.stored++
	}
	return nil
}
