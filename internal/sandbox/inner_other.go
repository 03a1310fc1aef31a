//go:build !linux || !(amd64 || arm64)

package sandbox

import "errors"

// Inner returns what a process has that confines another one within its own sandbox: nothing.
func Inner() Features { return Features{} }

// Become is not available here.
func (p *Plan) Become([]string, []string) error { return errors.ErrUnsupported }
