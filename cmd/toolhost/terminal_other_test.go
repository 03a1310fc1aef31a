//go:build !unix

package main

import "syscall"

func noTerminal() *syscall.SysProcAttr { return nil }
