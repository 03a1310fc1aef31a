//go:build !unix

package pluginsdk

import "os"

// mergeOutput does nothing: on this system only os.Stdout leads to standard error.
func mergeOutput(*os.File, *os.File) {}
