//go:build !unix

package mcpstdio

import (
	"io"
	"os"
)

// polled returns nil: no file is known to be one that the runtime waits for.
func polled(*os.File, ...*os.File) io.ReadCloser { return nil }
