//go:build !linux

package confine

import (
	"context"
	"errors"
	"syscall"
)

func addNamespaces(*syscall.SysProcAttr, Namespaces) {}

// Check returns [errors.ErrUnsupported] for any namespace.
func (n Namespaces) Check() error {
	if n == NoNamespace {
		return nil
	}
	return errors.ErrUnsupported
}

// Usage counts nothing here.
func (g Group) Usage() (processes int, memory int64) { return 0, 0 }

// UsageBelow counts nothing here.
func UsageBelow(int, int) (Usage, []int) { return Usage{}, nil }

// Descriptors counts nothing here.
func Descriptors([]int) int { return 0 }

// End does nothing here.
func (g Group) End() {}

// AwaitExit returns false: a process can be waited for only by reaping it.
func AwaitExit(int) bool { return false }

// ReapGroup does nothing here.
func ReapGroup(int) {}

// NewRun is empty here: nothing is found by it.
func NewRun() Group { return Group{} }

// CheckSweep returns [errors.ErrUnsupported].
func CheckSweep() error { return errors.ErrUnsupported }

// Claim does nothing here: a process's number alone does not tell which process it is.
func Claim(string) error { return nil }

// Left finds nothing here.
func Left(context.Context, string) bool { return false }

// Sweep finds nothing here.
func Sweep(context.Context, string) Swept { return Swept{} }

// OfPlugin is empty here: nothing is known of other processes.
func OfPlugin(syscall.Conn, bool) (why string) { return "" }

// Begin does nothing here.
func (g Group) Begin() {}

// Forked does nothing here.
func (g Group) Forked(int) error { return nil }

// Forget does nothing here.
func (g Group) Forget() {}

// Adopt returns [errors.ErrUnsupported].
func Adopt() error { return errors.ErrUnsupported }

// Conceal returns [errors.ErrUnsupported].
func Conceal() error { return errors.ErrUnsupported }
