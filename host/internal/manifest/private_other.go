//go:build !unix

package manifest

import (
	"io/fs"
	"os"
)

const openOnly = os.O_RDONLY

// private cannot be told from mode bits here: the user's own directory for caches
// is.
func private(fs.FileInfo) bool { return true }
