//go:build !unix

package sealed

import (
	"io/fs"
	"os"
)

const openOnly = os.O_RDONLY

// private cannot be told from mode bits here.
func private(fs.FileInfo) bool { return true }
