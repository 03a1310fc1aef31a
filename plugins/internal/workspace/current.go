package workspace

import (
	"context"
	"encoding/json"
	"fmt"
	"sync"

	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ConfigSchema is the schema of the configuration that [Current.Configure] takes.
var ConfigSchema = tool.Schema(`{"type": "object", "additionalProperties": false, "properties": {
	"allow_git": {"type": "boolean", "default": false,
		"description": "whether tools may change files called .git and what is in such directories"}}}`)

// Configure is what a plugin that writes files does with its configuration.
func (c *Current) Configure(_ context.Context, cfg pluginsdk.Config) error {
	var own struct {
		AllowGit bool `json:"allow_git"`
	}
	if len(cfg.JSON) > 0 {
		if err := json.Unmarshal(cfg.JSON, &own); err != nil {
			return fmt.Errorf("reading the configuration: %w", err)
		}
	}
	if err := c.Set(cfg.Root, cfg.Protected...); err != nil {
		return err
	}
	c.ws.git = own.AllowGit // before the first call
	return nil
}

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
