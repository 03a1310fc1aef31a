//go:build !linux

package audit

import "os"

// syncFile puts what was written on disk.
func syncFile(f *os.File) error { return f.Sync() }
