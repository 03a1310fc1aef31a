//go:build !unix

package dev

import "os/exec"

func inGroup(*exec.Cmd) {}
