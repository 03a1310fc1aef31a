package durable

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The names of what is stored.
const (
	QueueName   = "TOOLHOST_CALLS"   // the stream
	StateName   = "TOOLHOST_STATE"   // the bucket of the records
	ResultsName = "TOOLHOST_RESULTS" // that of the results which are too large for a record
)

const (
	inlineResult = 16 << 10 // bytes of a result that is in the record itself
	chunkSize    = 512 << 10
	maxChunks    = 2 << 10
	maxResult    = 64 << 20
)

// store is the queue and the buckets.
type store struct {
	nc      *nats.Conn
	js      jetstream.JetStream
	queue   jetstream.Stream
	bucket  jetstream.KeyValue // of the records
	results jetstream.KeyValue
	chunk   int
	remade  atomic.Uint64 // how often the queue or a bucket was made again
	asked   chan struct{} // receives when said has changed

	mu     sync.Mutex
	server time.Time // the server's clock at synced
	synced time.Time
	queued uint64 // calls in the queue by then
	said   Storage
	levels map[string]Level // by bucket
	looked time.Time        // when the level of the records was last asked for
	differ []string         // what is not as said
}

func openStore(ctx context.Context, c *Config) (*store, error) {
	js, err := jetstream.New(c.Conn)
	if err != nil {
		return nil, unavailable("JetStream", err)
	}
	s := &store{
		nc: c.Conn, js: js, chunk: min(chunkSize, int(c.Conn.MaxPayload())-overhead), said: c.said,
		asked: make(chan struct{}, 1), levels: map[string]Level{},
	}
	if _, err := js.AccountInfo(ctx); err != nil {
		return nil, noJetStream(err)
	}
	for _, want := range s.streams(c) {
		stream, err := find(ctx, js, want, c.Existing)
		if err != nil {
			return nil, noQueue(err)
		}
		got := stream.CachedInfo().Config
		if got.Retention != want.Retention || got.Discard != want.Discard || got.MaxMsgsPerSubject != want.MaxMsgsPerSubject {
			return nil, unavailable("the stream "+want.Name, errors.New("it is of another kind: it would lose what it has when it is full")).
				Fix("remove the stream, and it is made again")
		}
		if want.Name == QueueName {
			s.queue = stream
		}
	}
	if s.bucket, err = js.KeyValue(ctx, StateName); err == nil {
		s.results, err = js.KeyValue(ctx, ResultsName)
	}
	if err != nil {
		return nil, noQueue(err)
	}
	if err = s.readFromLeader(ctx); err != nil {
		return nil, noJetStream(err)
	}
	return s, nil
}

// madeAgain reports whether an error says that the queue or a bucket was deleted, and it is there again.
func (s *store) madeAgain(ctx context.Context, err error, c *Config) bool {
	if c.Existing || !errors.Is(err, jetstream.ErrNoStreamResponse) {
		return false
	}
	for _, want := range s.streams(c) {
		if _, err = find(ctx, s.js, want, c.Existing); err != nil {
			break
		}
	}
	s.remade.Add(1)
	return err == nil
}

// noQueue is the error for a queue or a bucket that cannot be used.
func noQueue(err error) error {
	if !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return noJetStream(err)
	}
	return tool.Errorf(tool.CodeNotFound, "no host has made the queue of durable calls: %w", err).
		Fix("set durable in a rule under nats.rules of the host that submits the calls")
}

func noJetStream(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		return unavailable("JetStream", err).
			Fix("start the NATS server with JetStream (-js), or name a directory for the embedded one; an account needs it too")
	}
	return unavailable("JetStream", err).Fix("the NATS user needs the permissions in docs/fleet.md, and the account room for the streams " +
		QueueName + ", KV_" + StateName + " and KV_" + ResultsName)
}

// now returns the time of the server, which is what everything is decided by that depends on time.
func (s *store) now(ctx context.Context) (time.Time, error) {
	s.mu.Lock()
	at, synced := s.server, s.synced
	s.mu.Unlock()
	if synced.IsZero() || time.Since(synced) > 10*time.Second {
		info, err := s.queue.Info(ctx)
		if err != nil {
			return time.Time{}, err
		}
		return s.sync(info), nil
	}
	return at.Add(time.Since(synced)), nil
}

func (s *store) sync(info *jetstream.StreamInfo) time.Time {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.server, s.synced, s.queued = info.TimeStamp, time.Now(), info.State.Msgs
	return s.server
}

func (s *store) inQueue() uint64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.queued
}

// read returns what is stored of a call. Its order is that of the host with the key.
func (s *store) read(ctx context.Context, key string) (*record, jetstream.KeyValueEntry, error) {
	e, err := s.bucket.Get(ctx, key)
	if err != nil {
		return nil, nil, err
	}
	r, err := openRecord(e.Value())
	if err == nil && keyOf(r.Key, r.ID) != key {
		err = errors.New("it is that of another call")
	}
	if err != nil {
		return nil, e, &forgedError{err}
	}
	return r, e, nil
}

// forgedError is that of a record which no host has signed that may.
type forgedError struct{ err error }

func (f *forgedError) Error() string {
	return "the record of the call is forged or damaged: " + f.err.Error()
}
func (f *forgedError) Unwrap() error { return f.err }

// errLost says that a record has changed, so that it cannot be replaced.
var errLost = errors.New("the call's record has changed")

// swap replaces the revision of a record. An answer of the server that was lost is found out.
//
// # Errors
//
// errLost; others, after which it may be tried again.
func (s *store) swap(ctx context.Context, r *record, revision uint64) (uint64, error) {
	data, key := r.pack(), keyOf(r.Key, r.ID)
	next, err := s.bucket.Update(ctx, key, data, revision)
	if !errors.Is(err, jetstream.ErrKeyRevisionMismatch) {
		return next, err
	}
	e, err := s.bucket.Get(ctx, key)
	switch {
	case errors.Is(err, jetstream.ErrKeyNotFound):
		return 0, errLost
	case err != nil:
		return 0, err
	case bytes.Equal(e.Value(), data) && e.Revision() > revision:
		return e.Revision(), nil
	}
	return 0, errLost
}

func chunkKey(key, claim string, n int) string { return fmt.Sprintf("%s.%s.%d", key, claim, n) }

// result returns the result of a record whose status is signed.
func (s *store) result(ctx context.Context, r *record) (*tool.Result, error) {
	text := r.result
	if r.s.Size < 0 || r.s.Size > maxResult || r.s.Chunks < 0 || r.s.Chunks > maxChunks {
		return nil, &forgedError{errors.New("its result is too large")}
	}
	if r.s.Chunks > 0 {
		text = make([]byte, 0, min(r.s.Size, r.s.Chunks*int(s.nc.MaxPayload())))
	}
	for n := range r.s.Chunks {
		e, err := s.results.Get(ctx, chunkKey(keyOf(r.Key, r.ID), r.s.Claim, n))
		if err != nil {
			return nil, err
		}
		if text = append(text, e.Value()...); len(text) > r.s.Size {
			break
		}
	}
	if len(text) != r.s.Size || sumOf(text) != r.s.Sum {
		return nil, &forgedError{errors.New("its result is not the one that was signed")}
	}
	out := new(tool.Result)
	if err := out.UnmarshalJSON(text); err != nil {
		return nil, &forgedError{err}
	}
	return out, nil
}
