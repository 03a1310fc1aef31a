package durable

import "context"

// readFromLeader has the records of a cluster read from the server that leads. Any other may answer with
// what it knew before it lost or regained the cluster: that a call which it was told of is not there.
func (s *store) readFromLeader(ctx context.Context) error {
	stream, err := s.js.Stream(ctx, "KV_"+ResultsName)
	if err != nil {
		return err
	}
	c := stream.CachedInfo().Config
	if c.Replicas < 2 || !c.AllowDirect {
		return nil
	}
	c.AllowDirect = false
	if _, err = s.js.UpdateStream(ctx, c); err == nil {
		s.bucket, err = s.js.KeyValue(ctx, ResultsName) // which knows how to read from then on
	}
	return err
}
