package confine

import (
	"errors"
	"io/fs"
	"slices"
	"sync"
	"syscall"
)

// forGood are the errors by which a system says that it does not have something, or does not let this
// user have it: the kernel does not know a call, a flag, a kind of file system or of address; a file of
// /proc or /sys is not there, or cannot be written. Any other error may be one of this moment.
var forGood = []error{
	fs.ErrPermission, errors.ErrUnsupported, fs.ErrNotExist, syscall.EINVAL, syscall.ENODEV, syscall.EAFNOSUPPORT, syscall.EROFS,
}

// Impossible reports whether an error is a refusal for good. Any other is taken for a shortage: what
// fails by it is an error, and nothing is done without it.
func Impossible(err error) bool {
	return slices.ContainsFunc(forGood, func(e error) bool { return errors.Is(err, e) })
}

// Found returns a function that returns what look has found: a value or a refusal for good, which is
// remembered. After a shortage the next call looks again.
func Found[T any](look func() (T, error)) func() (T, error) {
	var mu sync.Mutex
	var known bool
	var value T
	var err error
	return func() (T, error) {
		mu.Lock()
		defer mu.Unlock()
		if !known {
			value, err = look()
			known = err == nil || Impossible(err)
		}
		return value, err
	}
}
