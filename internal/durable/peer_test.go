package durable_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"

	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A peer of the embedded server takes part in durable calls, and can neither change nor delete what they
// are kept in, nor read what is not the fleet's.
func TestPeerCannotDeleteQueue(t *testing.T) {
	t.Parallel()
	s, l := newSite(t, 2), new(ledger)
	add := noted("add", l, false, nil)
	caller := s.join(0, nil, remote(add), trusting(s.peers(1)))
	id := caller.submit(t, durable.Request{Tool: "add", Arguments: args("a")})
	refused := make(chan string, 100)
	nc, err := nats.Connect(s.URL(), nats.Nkey(s.public[1], s.keys[1].Sign), nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
		if errors.Is(err, nats.ErrPermissionViolation) {
			refused <- err.Error()
		}
	}))
	require.NoError(t, err)
	defer nc.Close()
	js := require.Must(jetstream.New(nc))(t)
	bucket := "KV_" + durable.StateName
	for what, try := range map[string]func(context.Context) error{
		"$JS.API.STREAM.DELETE." + durable.QueueName: func(ctx context.Context) error { return js.DeleteStream(ctx, durable.QueueName) },
		"$JS.API.STREAM.DELETE." + bucket:            func(ctx context.Context) error { return js.DeleteKeyValue(ctx, durable.StateName) },
		"$JS.API.STREAM.UPDATE." + durable.QueueName: func(ctx context.Context) error {
			_, err := js.UpdateStream(ctx, jetstream.StreamConfig{Name: durable.QueueName, Subjects: []string{">"}})
			return err
		},
		"$JS.API.STREAM.CREATE.OTHER": func(ctx context.Context) error {
			_, err := js.CreateStream(ctx, jetstream.StreamConfig{Name: "OTHER", Subjects: []string{"toolhost.v1.>"}})
			return err
		},
		"$JS.API.STREAM.PURGE." + bucket: func(ctx context.Context) error {
			stream, err := js.Stream(ctx, bucket)
			if err != nil {
				t.Error(err)
				return err
			}
			return stream.Purge(ctx)
		},
		">": func(ctx context.Context) error {
			sub, err := nc.SubscribeSync(">")
			if err == nil {
				_, err = sub.NextMsgWithContext(ctx)
			}
			return err
		},
	} {
		ctx, cancel := context.WithTimeout(t.Context(), time.Minute)
		ended := make(chan error, 1)
		go func() { ended <- try(ctx) }()
		select {
		case got := <-refused:
			assert.Containsf(t, got, `"`+what+`"`, "%s", what)
		case err := <-ended:
			t.Errorf("%s was not refused: %v", what, err)
		}
		cancel()
	}
	_, err = js.CreateStream(t.Context(), jetstream.StreamConfig{Name: durable.QueueName, Subjects: []string{">"}, NoAck: true})
	assert.ErrorIsf(t, err, jetstream.ErrStreamNameAlreadyInUse, "the queue of another")
	kv := require.Must(js.KeyValue(t.Context(), durable.StateName))(t)
	// What a consumer delivers goes to a subject of the peer's choice, in the server's name.
	require.Must(kv.Put(t.Context(), "bait", nil))(t)
	push := require.Must(js.CreatePushConsumer(t.Context(), bucket, jetstream.ConsumerConfig{
		FilterSubject: "$KV." + durable.StateName + ".bait", AckPolicy: jetstream.AckNonePolicy,
		DeliverSubject: "$JS.API.STREAM.DELETE." + durable.QueueName,
	}))(t)
	worker := s.join(1, []tool.Tool{add}, trusting(s.peers(0)))
	if c := caller.wait(t, id); c.State != durable.StateDone || worker.Stats().Ran != 1 {
		t.Errorf("%+v", c)
	}
	if info, err := push.Info(t.Context()); err != nil || info.Delivered.Stream != 0 || info.NumPending != 1 {
		t.Errorf("the consumer: %+v, %v", info, err)
	}
}
