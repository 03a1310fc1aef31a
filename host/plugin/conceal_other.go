//go:build !linux

package plugin

import "errors"

// Conceal keeps other processes of this user, plugins among them, from reading this
// process's environment and memory. Only Linux has it.
//
// # Errors
//
// [errors.ErrUnsupported].
func Conceal() error { return errors.ErrUnsupported }

func weaken() {}
