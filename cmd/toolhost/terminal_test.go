package main

import "syscall"

// noTerminal puts a process into a session of its own, so that a developer's
// terminal is not asked.
func noTerminal() *syscall.SysProcAttr { return &syscall.SysProcAttr{Setsid: true} }
