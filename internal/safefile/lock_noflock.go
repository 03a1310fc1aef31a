//go:build aix || solaris

package safefile

import (
	"errors"
	"os"
)

func tryLock(*os.File, LockMode) error { return errors.ErrUnsupported }

// Unlock does nothing: no file is ever locked.
func Unlock(*os.File) error { return nil }
