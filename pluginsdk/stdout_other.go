//go:build !unix

package pluginsdk

import "os"

// mergeOutput has no counterpart here: os.Stdout alone leads to standard error.
func mergeOutput(*os.File, *os.File) {}
