//go:build !unix

package main

import "os/exec"

// ownGroup has a program and its children end together, where there are process
// groups.
func ownGroup(*exec.Cmd) {}
