package durable

import "context"

// Requeue has another worker take a call that runs, as its host does when the worker has been silent for long.
func (c *Calls) Requeue(ctx context.Context, id string) error {
	r, at, err := c.get(ctx, id)
	if err != nil {
		return err
	}
	return c.end(ctx, r, at.Revision(), StateQueued, nil, false)
}
