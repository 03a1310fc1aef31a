//go:build !linux

package audit

// renameNew gives a file another name, and never one that is taken.
func renameNew(from, to string) error { return renameUnlessTaken(from, to) }
