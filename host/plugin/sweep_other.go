//go:build !linux

package plugin

import "context"

// Claim does nothing here: a process's number alone does not tell who it is.
func Claim(string) error { return nil }

// Sweep does nothing here; toolhost doctor says so.
func Sweep(context.Context, string) Swept { return Swept{} }
