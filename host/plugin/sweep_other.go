//go:build !linux

package plugin

// Claim does nothing here: a process's number alone does not tell who it is.
func Claim(string) error { return nil }

// Sweep does nothing here; toolhost doctor says so.
func Sweep(string) Swept { return Swept{} }
