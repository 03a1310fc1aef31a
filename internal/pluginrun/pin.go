package pluginrun

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sealed"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Pins says what may run. With pins, a binary is copied, while it is hashed, to where no
// other process can write, and the copy runs.
type Pins interface {
	// Listed checks a plugin's name, before its binary is read: one that does not run takes
	// no memory.
	Listed(plugin string) error
	// Binary checks the SHA-256 of a plugin's binary, in hexadecimal digits, before it runs.
	Binary(plugin, sha256 string) error
	// Described also checks what the plugin says of itself, before it is configured or
	// called.
	Described(plugin, sha256 string, about wire.Description) error
}

// NeedsPins are [Pins] that may also say what the operator has accepted of a plugin's needs;
// false: they do not say. See [Config.Accepted].
type NeedsPins interface {
	Needs(plugin string) (accepted *tool.Needs, ok bool)
}

// errPinned is the cause if pins refuse a plugin. That is not a failure of the plugin, and
// does not count for backoff.
var errPinned = errors.New("not as pinned")

func notPinned(err error) error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	e.Err = fmt.Errorf("%w: %w", errPinned, err)
	return &e
}

// pinnedCopy is a copy of a binary that runs in place of the file at its path: the pins allow
// it, or it is a kept one; nil: the file runs.
type pinnedCopy struct {
	pins Pins // nil: there are none
	file *sealed.File
}

// binary returns the copy that is to run.
func (c Config) binary(ctx context.Context, of plugin.Candidate) (*pinnedCopy, error) {
	if c.Kept != nil {
		if path, sum := c.Kept(); path != "" {
			return c.copyPinned(ctx, of.Name, path, func(sha256 string) error {
				if sha256 == sum {
					return nil
				}
				return notStarted(of.Name, fmt.Errorf("%s is not the binary that was kept there", path), "remove the file")
			})
		}
	}
	if err := checkComplete(ctx, of); err != nil {
		return nil, err
	}
	return c.copyPinned(ctx, of.Name, of.Binary(), c.Content)
}

// copyPinned copies a binary, if there are pins, or if its content is judged; nil: any may run.
func (c Config) copyPinned(ctx context.Context, plugin, path string, content func(sha256 string) error) (*pinnedCopy, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := sealed.CheckSize(info, sealed.MaxSize); err != nil {
			return nil, notStarted(plugin, err, "is "+path+" the right file?")
		}
	}
	pins, err := c.pins(plugin)
	if err != nil {
		return nil, err
	}
	if pins == nil && content == nil {
		return nil, nil
	}
	f, err := sealed.Copy(ctx, path, sealed.Options{Dir: c.TempDir})
	if err != nil {
		return nil, notStarted(plugin, fmt.Errorf("the binary could not be read: %w", err), "is it still being copied?")
	}
	if content != nil {
		err = content(f.SHA256)
	}
	if err == nil && pins != nil {
		err = pins.Binary(plugin, f.SHA256)
	}
	if err != nil {
		_ = f.Close()
		return nil, notPinned(err)
	}
	return &pinnedCopy{pins, f}, nil
}

// pins returns what may run, if a plugin of that name may; nil: everything may.
func (c Config) pins(plugin string) (Pins, error) {
	if c.Pins == nil {
		return nil, nil
	}
	pins, err := c.Pins()
	if err != nil {
		e := *tool.AsError(notPinned(err))
		e.Plugin, e.Message = plugin, fmt.Sprintf("plugin %s does not run, as what is pinned cannot be read: %s", plugin, e.Message)
		return nil, &e
	}
	if pins == nil {
		return nil, nil
	}
	return pins, notPinned(pins.Listed(plugin))
}

func notStarted(plugin string, err error, hint string) error {
	return unavailable(plugin, err, fmt.Sprintf("plugin %s did not start: %v", plugin, err), hint)
}

func (p *pinnedCopy) described(plugin string, about wire.Description) error {
	if p == nil || p.pins == nil {
		return nil
	}
	return notPinned(p.pins.Described(plugin, p.file.SHA256, about))
}

// close releases the copy, when nothing more is to be run from it.
func (p *pinnedCopy) close() {
	if p != nil {
		_ = p.file.Close()
	}
}
