//go:build !unix

package main

import (
	"context"
	"time"
)

// stop does nothing: there is no such signal here.
func (*node) stop(context.Context, time.Duration) error { return nil }
