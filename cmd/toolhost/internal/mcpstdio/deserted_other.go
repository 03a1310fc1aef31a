//go:build !unix

package mcpstdio

import (
	"context"
	"os"
)

// deserted returns nil: the system does not tell.
func deserted(context.Context, *os.File) <-chan struct{} { return nil }
