//go:build unix

package plugin

import "io/fs"

func executable(info fs.FileInfo) bool { return info.Mode().Perm()&0o111 != 0 }
