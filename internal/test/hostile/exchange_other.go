//go:build !linux

package hostile

import (
	"errors"
	"os"
)

// exchange swaps two names, as well as it can be done.
func exchange(a, b string) error {
	return errors.Join(os.Rename(a, a+".tmp"), os.Rename(b, a), os.Rename(a+".tmp", b))
}
