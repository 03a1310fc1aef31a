//go:build unix && !linux

package plugin

import "syscall"

// isolateMore has no counterpart here; toolhost doctor says so.
func isolateMore(*syscall.SysProcAttr, Namespace) (namespaced bool) { return false }

// awaitExit has no counterpart here: the group is ended after the reaping.
func awaitExit(int) bool { return false }
