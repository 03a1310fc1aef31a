package durable

import (
	"context"

	"github.com/nats-io/nats.go/jetstream"
)

// readFromLeader has the buckets of a cluster read from the server that leads. Any other may answer with
// what it knew before it lost or regained the cluster: that a call which it was told of is not there. Those that
// hosts make are so; an operator's may not be.
func (s *store) readFromLeader(ctx context.Context) error {
	for name, bucket := range map[string]*jetstream.KeyValue{StateName: &s.bucket, ResultsName: &s.results} {
		stream, err := s.js.Stream(ctx, "KV_"+name)
		if err != nil {
			return err
		}
		c := stream.CachedInfo().Config
		if c.Replicas < 2 || !c.AllowDirect {
			continue
		}
		c.AllowDirect = false
		if _, err = s.js.UpdateStream(ctx, c); err == nil {
			*bucket, err = s.js.KeyValue(ctx, name) // which knows how to read from then on
		}
		if err != nil {
			return err
		}
	}
	return nil
}
