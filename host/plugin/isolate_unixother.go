//go:build unix && !linux

package plugin

import "syscall"

// dieWithParent has no counterpart here; toolhost doctor says so.
func dieWithParent(*syscall.SysProcAttr) {}

// awaitExit has no counterpart here: the group is ended after the reaping.
func awaitExit(int) bool { return false }
