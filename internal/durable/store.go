package durable

import (
	"bytes"
	"context"
	"crypto/rand"
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
	ResultsName = "TOOLHOST_RESULTS" // the bucket
)

const (
	inlineResult = 16 << 10 // bytes of a result that is in the record itself
	chunkSize    = 512 << 10
	maxChunks    = 2 << 10
	maxResult    = 64 << 20
	full         = jetstream.ErrorCode(10077) // what is stored has its most messages or bytes
)

// store is the queue and the bucket.
type store struct {
	nc     *nats.Conn
	js     jetstream.JetStream
	queue  jetstream.Stream
	bucket jetstream.KeyValue
	chunk  int
	remade atomic.Uint64 // how often the queue or the bucket was made again

	mu     sync.Mutex
	server time.Time // the server's clock at synced
	synced time.Time
	queued uint64 // calls in the queue by then
}

func openStore(ctx context.Context, c *Config) (*store, error) {
	js, err := jetstream.New(c.Conn)
	if err != nil {
		return nil, unavailable("JetStream", err)
	}
	s := &store{nc: c.Conn, js: js, chunk: min(chunkSize, int(c.Conn.MaxPayload())-overhead)}
	if _, err := js.AccountInfo(ctx); err != nil {
		return nil, noJetStream(err)
	}
	if s.queue, err = findQueue(ctx, js, c); err != nil {
		return nil, noQueue(err)
	}
	if c := s.queue.CachedInfo().Config; c.Retention != jetstream.WorkQueuePolicy || c.Discard != jetstream.DiscardNew {
		e := unavailable("the stream "+QueueName, errors.New("it is not a work queue that refuses new messages when it is full"))
		e.OperatorHint = "remove the stream, and it is made again"
		return nil, e
	}
	if s.bucket, err = findBucket(ctx, js, c); err != nil {
		return nil, noQueue(err)
	}
	if err = s.readFromLeader(ctx); err != nil {
		return nil, noJetStream(err)
	}
	return s, nil
}

// findQueue returns the stream, and makes it if it is not there.
func findQueue(ctx context.Context, js jetstream.JetStream, c *Config) (jetstream.Stream, error) {
	stream, err := js.Stream(ctx, QueueName)
	if c.Existing || !errors.Is(err, jetstream.ErrStreamNotFound) {
		return stream, err
	}
	stream, err = js.CreateStream(ctx, jetstream.StreamConfig{
		Name: QueueName, Description: "toolhost: calls that wait or run", Subjects: []string{subjects + "*.*"},
		Retention: jetstream.WorkQueuePolicy, Storage: jetstream.FileStorage, Discard: jetstream.DiscardNew,
		MaxMsgs: int64(c.Queue), MaxBytes: c.Bytes, MaxAge: c.Keep, Replicas: c.Replicas, Duplicates: min(2*time.Minute, c.Keep),
	})
	if errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) { // another host was quicker
		return js.Stream(ctx, QueueName)
	}
	return stream, err
}

// findBucket returns the bucket, and makes it if it is not there.
func findBucket(ctx context.Context, js jetstream.JetStream, c *Config) (jetstream.KeyValue, error) {
	bucket, err := js.KeyValue(ctx, ResultsName)
	if c.Existing || !errors.Is(err, jetstream.ErrBucketNotFound) {
		return bucket, err
	}
	bucket, err = js.CreateKeyValue(ctx, jetstream.KeyValueConfig{
		Bucket: ResultsName, Description: "toolhost: calls and their results", History: 1,
		TTL: c.Keep, MaxBytes: c.Bytes, Storage: jetstream.FileStorage, Replicas: c.Replicas,
	})
	if errors.Is(err, jetstream.ErrBucketExists) || errors.Is(err, jetstream.ErrStreamNameAlreadyInUse) {
		return js.KeyValue(ctx, ResultsName)
	}
	return bucket, err
}

// madeAgain reports whether an error says that the queue or the bucket was deleted, and it is there again.
func (s *store) madeAgain(ctx context.Context, err error, c *Config) bool {
	if c.Existing || !errors.Is(err, jetstream.ErrNoStreamResponse) {
		return false
	}
	if _, err = findQueue(ctx, s.js, c); err == nil {
		_, err = findBucket(ctx, s.js, c)
	}
	s.remade.Add(1)
	return err == nil
}

// noQueue is the error for a queue or a bucket that cannot be used.
func noQueue(err error) error {
	if !errors.Is(err, jetstream.ErrStreamNotFound) && !errors.Is(err, jetstream.ErrBucketNotFound) {
		return noJetStream(err)
	}
	e := tool.Errorf(tool.CodeNotFound, "no host has made the queue of durable calls: %w", err)
	e.OperatorHint = "set durable in a rule under nats.rules of the host that submits the calls"
	return e
}

func noJetStream(err error) error {
	if errors.Is(err, context.Canceled) {
		return err
	}
	e := unavailable("JetStream", err)
	if errors.Is(err, jetstream.ErrJetStreamNotEnabled) || errors.Is(err, jetstream.ErrJetStreamNotEnabledForAccount) {
		e.OperatorHint = "start the NATS server with JetStream (-js), or name a directory for the embedded one; an account needs it too"
	} else {
		e.OperatorHint = "the NATS user needs the permissions in docs/fleet.md, and the account room for the streams " +
			QueueName + " and KV_" + ResultsName
	}
	return e
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

func chunkKey(r *record, claim string, n int) string {
	return fmt.Sprintf("%s.%s.%d", keyOf(r.Key, r.ID), claim, n)
}

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
		e, err := s.bucket.Get(ctx, chunkKey(r, r.s.Claim, n))
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

// newID returns an ID that no other call has.
func newID() string { return rand.Text() }
