package workspace

import (
	"context"
	"sync"
)

// Current holds the workspace that a plugin works in: the one that [Current.Set] chose,
// or else the working directory. The zero value is ready.
type Current struct {
	mu sync.Mutex
	ws *Workspace
}

// Set changes the workspace to the directory root; empty means the working directory.
// Protected are those of [Open]. If Set fails, the workspace stays as it was.
func (c *Current) Set(root string, protected ...string) error {
	if root == "" {
		root = "."
	}
	ws, err := Open(root, protected...)
	if err != nil {
		return err
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	// The previous one is not closed, because a call may be using it. This happens at
	// most once in a process, and the garbage collector closes it.
	c.ws = ws
	return nil
}

// In returns f for the workspace that is current when it is called.
func In[In, Out any](
	c *Current, f func(context.Context, *Workspace, In) (Out, error),
) func(context.Context, In) (Out, error) {
	return func(ctx context.Context, args In) (Out, error) {
		ws, err := c.Get()
		if err != nil {
			var none Out
			return none, err
		}
		return f(ctx, ws, args)
	}
}

// Get returns the workspace. It fails only if the working directory cannot be opened.
func (c *Current) Get() (*Workspace, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.ws == nil {
		ws, err := Open(".")
		if err != nil {
			return nil, err
		}
		c.ws = ws
	}
	return c.ws, nil
}
