//go:build !unix

package main

import (
	"errors"
	"os/exec"
)

// ownGroup makes a program and its children end together, on systems with process
// groups.
func ownGroup(*exec.Cmd) {}

// freeze stops a process, where that can be done.
func freeze(int) error { return errors.New("a process can be stopped on Unix only") }
