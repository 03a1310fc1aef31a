package durable

import (
	"encoding/json"
	"errors"
	"time"

	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// status is what the writer of a record says of the call, and signs.
type status struct {
	By      string        `json:"by"` // the writer's key
	Host    string        `json:"host"`
	Order   string        `json:"order"` // the SHA-256 of the sealed order
	State   State         `json:"state"`
	Attempt int           `json:"attempt"`
	Claim   string        `json:"claim,omitempty"` // the attempt's own
	Lapse   time.Duration `json:"lapse_ns,omitempty"`
	Queued  time.Time     `json:"queued,omitzero"` // by the server's clock
	Started time.Time     `json:"started,omitzero"`
	Ended   time.Time     `json:"ended,omitzero"`
	Error   *tool.Error   `json:"error,omitempty"`
	Unknown bool          `json:"unknown,omitempty"`
	Size    int           `json:"size,omitempty"`   // of the result, in bytes
	Sum     string        `json:"sum,omitempty"`    // its SHA-256
	Chunks  int           `json:"chunks,omitempty"` // 0: it is in the record

	Phases *policy.Phases `json:"phases,omitempty"`
}

// fail says that the call has ended with an error.
func (s *status) fail(state State, o *order, e *tool.Error) {
	e.Tool = o.Tool
	s.State, s.Error, s.Ended = state, e, s.Started
}

// record is what is stored of a call. Without a status it is queued, by the word of its order.
type record struct {
	sealed []byte // the order
	status []byte // sealed; empty: there is none
	result []byte

	*order
	s *status // nil: there is none
}

func (r *record) state() State {
	if r.s == nil {
		return StateQueued
	}
	return r.s.State
}

func (r *record) pack() []byte { return pack(r.sealed, r.status, r.result) }

// maxStatus bounds a status, in bytes.
const maxStatus = 64 << 10

// openRecord reads a record. The order's signature is checked, and that of the status if there is
// one, but not what its writer may say.
func openRecord(data []byte) (*record, error) {
	parts, err := unpack(data, 3)
	if err != nil {
		return nil, err
	}
	r := &record{sealed: parts[0], status: parts[1], result: parts[2]}
	if r.order, err = openOrder(r.sealed); err != nil {
		return nil, err
	}
	if len(r.status) == 0 {
		return r, nil
	}
	if len(r.status) > maxStatus {
		return nil, errors.New("its status is too long")
	}
	body, err := bodyOf(r.status)
	if err != nil {
		return nil, err
	}
	r.s = new(status)
	if err := json.Unmarshal(body, r.s); err != nil {
		return nil, err
	}
	switch {
	case r.s.Order != sumOf(r.sealed):
		return nil, errors.New("its status is that of another call")
	case r.s.State != StateWaiting && r.s.State != StateQueued && r.s.State != StateRunning && !r.s.State.Ended():
		return nil, errors.New("its state is unknown")
	case r.s.Claim != "" && !validID().MatchString(r.s.Claim):
		return nil, errors.New("its claim is not one")
	case (r.s.State == StateFailed || r.s.State == StateCanceled || r.s.State == StateExpired) != (r.s.Error != nil):
		return nil, errors.New("its state does not fit its error")
	}
	return r, check(r.s.By, forStatus, r.status)
}

// with returns the record with another status, signed by k.
func (r *record) with(k Key, s status, result []byte) (*record, error) {
	s.By, s.Order = k.Public(), sumOf(r.sealed)
	body, err := json.Marshal(s)
	if err != nil {
		return nil, err
	}
	if len(body) > maxStatus-signatureSize && s.Error != nil { // its error has a long detail
		e := *s.Error
		e.Message, e.Detail, e.Hint, e.OperatorHint = cut(e.Message), "", cut(e.Hint), cut(e.OperatorHint)
		s.Error = &e
		if body, err = json.Marshal(s); err != nil {
			return nil, err
		}
	}
	sealed, err := seal(k, forStatus, body)
	return &record{sealed: r.sealed, status: sealed, result: result, order: r.order, s: &s}, err
}

// glance returns what a record says now. It is not due if the call has ended. Nothing is checked but the tool's name.
func glance(e jetstream.KeyValueEntry, lapse time.Duration) sighting {
	out := sighting{revision: e.Revision(), since: time.Now()}
	var o order
	var s status
	parts, err := unpack(e.Value(), 3)
	if err != nil {
		return out
	}
	for i, v := range []any{&o, &s} {
		if body, err := bodyOf(parts[i]); err == nil {
			_ = json.Unmarshal(body, v) // what cannot be read is not looked at
		}
	}
	queued := e.Created()
	switch {
	case s.State.Ended() || o.TTL <= 0:
		return out
	case s.State == StateRunning:
		out.due = queued.Add(2 * lapseOf(&s))
		return out
	case !s.Queued.IsZero():
		queued = s.Queued
	}
	out.expires = queued.Add(o.ttl())
	if out.due = out.expires; s.State == "" { // once: it may not be in the queue
		out.due = queued.Add(min(o.ttl(), unqueuedAfter(lapse)))
	}
	if o.spellsTool() {
		out.tool = o.Tool
	}
	return out
}

// lapseOf returns without how long a sign of life a worker may be dead.
func lapseOf(s *status) time.Duration { return min(max(s.Lapse, minLapse), time.Hour) }

func cut(s string) string { return s[:min(len(s), 4<<10)] }

// mayBe reports whether the writer of a record's status may say it.
func (r *record) mayBe(own string, peers func() map[string]Peer) bool {
	if r.s == nil || r.s.By == own || r.s.By == r.Key {
		return true
	}
	p, known := peers()[r.s.By]
	return known && r.s.State != StateCanceled && Matches(p.Mount, r.Tool)
}

// call is what a caller sees of a record.
func (r *record) call() Call {
	c := Call{
		ID: r.ID, Tool: r.Tool, Digest: r.Digest, Caller: r.Caller, IdempotencyKey: r.Named, Mode: r.Mode, State: r.state(), Own: r.At != "",
		TTL: tool.Duration(r.ttl()), Submitted: r.Submitted, Host: r.Host,
	}
	if c.State == StateWaiting && sumOf(r.result) == r.Arguments {
		c.Arguments = r.result
	}
	if s := r.s; s != nil {
		c.Attempts, c.Started, c.Ended, c.Error, c.Phases = s.Attempt, s.Started, s.Ended, s.Error, s.Phases
		if s.Attempt > 0 {
			c.Worker = s.Host
		}
		if s.Unknown && s.Error != nil {
			s.Error.Err = ErrOutcomeUnknown
		}
	}
	return c
}
