package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"

	"github.com/toolhost/toolhost/host/internal/sealed"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// Pins say what may run. Where there are some, a binary is copied to where nobody can
// write while it is hashed, and it is the copy that runs.
type Pins interface {
	// Listed judges a plugin by its name, before its binary is read: one that does not run
	// takes no memory.
	Listed(plugin string) error
	// Binary judges a plugin by the SHA-256 of its binary, in hexadecimal digits, before
	// it runs.
	Binary(plugin, sha256 string) error
	// Described judges it by what it says of itself too, before it is configured or
	// called.
	Described(plugin, sha256 string, about wire.Description) error
}

// errPinned is the cause where pins say no. That is nobody's crash: it counts for no
// backoff.
var errPinned = errors.New("not as pinned")

func pinned(err error) error {
	if err == nil {
		return nil
	}
	e := *tool.AsError(err)
	e.Err = fmt.Errorf("%w: %w", errPinned, err)
	return &e
}

// pin is what came of looking at the pins before a start; nil: there are none, and the
// file at its path runs.
type pin struct {
	pins Pins
	file *sealed.File
}

func (c Config) pin(ctx context.Context, plugin, path string) (*pin, error) {
	if info, err := os.Lstat(path); err == nil {
		if err := sealed.CheckSize(info, sealed.MaxSize); err != nil {
			return nil, notStarted(plugin, err, "is "+path+" the right file?")
		}
	}
	if c.Pins == nil {
		return nil, nil
	}
	pins, err := c.Pins()
	if err != nil {
		e := *tool.AsError(pinned(err))
		e.Plugin, e.Message = plugin, fmt.Sprintf("plugin %s does not run, as what is pinned cannot be read: %s", plugin, e.Message)
		return nil, &e
	}
	if pins == nil {
		return nil, nil
	}
	if err := pins.Listed(plugin); err != nil {
		return nil, pinned(err)
	}
	f, err := sealed.Copy(ctx, path, sealed.Options{Dir: c.TempDir})
	if err != nil {
		return nil, notStarted(plugin, fmt.Errorf("its binary could not be read: %w", err), "is it still being copied?")
	}
	if err := pins.Binary(plugin, f.SHA256); err != nil {
		_ = f.Close()
		return nil, pinned(err)
	}
	return &pin{pins, f}, nil
}

func notStarted(plugin string, err error, hint string) error {
	return unavailable(plugin, err, fmt.Sprintf("plugin %s did not start: %v", plugin, err), hint)
}

func (p *pin) described(plugin string, about wire.Description) error {
	if p == nil {
		return nil
	}
	return pinned(p.pins.Described(plugin, p.file.SHA256, about))
}

// close lets the copy go, when nothing more is to be run from it.
func (p *pin) close() {
	if p != nil {
		_ = p.file.Close()
	}
}
