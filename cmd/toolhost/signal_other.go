//go:build !unix

package main

import "errors"

// canKill reports whether the demo can end a plugin in the middle of a call.
const canKill = false

func stopProcess(int) error { return errors.ErrUnsupported }

func killProcess(int) {}

func processAlive(int) bool { return false }
