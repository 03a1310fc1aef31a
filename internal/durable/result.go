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
	stored := len(text) <= inlineResult
	for pause := 50 * time.Millisecond; ; pause = min(2*pause, 2*time.Second) {
		if !stored {
			if s.Chunks, err = j.putResult(text); isFull(err) {
				s, text, err = unkept(s, j.Tool, err), nil, nil
			}
			stored = err == nil
		}
		if stored {
			var next *record
			inline := text
			if s.Chunks > 0 {
				inline = nil
			}
			if next, err = j.record.with(j.cfg.Key, s, inline); err == nil {
				if err = j.replace(next); isFull(err) && s.State == StateDone {
					s, text = unkept(s, j.Tool, err), nil
					continue
				}
			}
		}
		if errors.Is(context.Cause(j.ctx), errClosing) && time.Until(last) > ioTime { // Close waits for it
			last = time.Now().Add(ioTime)
		}
		if err == nil || errors.Is(err, errLost) || time.Now().After(last) || j.cfg.Conn.IsClosed() {
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
	e := tool.Errorf(tool.CodeResourceExhausted, "%s has run, and its result of %d bytes could not be kept: %w", name, s.Size, err)
	e.Tool, e.Hint = name, "find out what it has done before you repeat it"
	e.OperatorHint = "raise nats.queue.bytes, or lower nats.queue.keep; toolhost doctor says how full the results are"
	s.State, s.Error, s.Size, s.Sum, s.Chunks = StateFailed, fault.Sent(e), 0, "", 0
	return s
}

// putResult stores a large result, and shows signs of life meanwhile. One that does not fit leaves nothing.
func (j *job) putResult(text []byte) (chunks int, err error) {
	room, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), ioTime)
	err = j.store.makeRoom(room, len(text), len(text)/j.store.chunk+1, j.cfg.Fetched)
	cancel()
	if err != nil {
		return 0, err
	}
	for rest := text; len(rest) > 0; chunks++ {
		n := min(len(rest), j.store.chunk)
		ctx, cancel := j.io()
		_, err := j.store.results.Put(ctx, chunkKey(j.record, j.record.s.Claim, chunks), rest[:n])
		cancel()
		if isFull(err) {
			gone, cancel := context.WithTimeout(context.WithoutCancel(j.ctx), ioTime)
			_ = j.store.remove(gone, keyOf(j.Key, j.ID), mark{j.record.s.Claim, chunks}) // else they go after nats.queue.keep
			cancel()
		}
		if err != nil {
			return 0, fmt.Errorf("chunk %d: %w", chunks, err)
		}
		rest = rest[n:]
		if time.Since(j.beaten) > j.lapse/3 {
			j.beat()
		}
	}
	return chunks, nil
}
