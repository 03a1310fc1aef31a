//go:build !linux

package roster

// beingWritten is not known here: a file whose size and time stay is taken for whole.
func beingWritten(string) bool { return false }
