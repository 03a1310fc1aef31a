//go:build !unix && !windows

package terminal

import "errors"

// Open fails: this system has no terminals.
func Open() (Terminal, error) { return nil, errors.ErrUnsupported }
