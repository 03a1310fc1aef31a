//go:build !linux

package audit

import "os"

// syncFile makes what was written durable.
func syncFile(f *os.File) error { return f.Sync() }

// renameNew gives a file another name, and never one that is taken.
func renameNew(from, to string) error { return renameUnlessTaken(from, to) }
