//go:build !linux && !darwin

package manifest

import "io/fs"

// identityOf cannot be told here: binaries are hashed at each start of a host.
func identityOf(fs.FileInfo) (identity, bool) { return identity{}, false }
