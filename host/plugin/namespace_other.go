//go:build !linux

package plugin

import "errors"

// missing is why there is no namespace where one was insisted on.
func (n Namespace) missing() error {
	if n == NamespaceOn {
		return errors.ErrUnsupported
	}
	return nil
}

// mayDoWithout has no counterpart here.
func (n Namespace) mayDoWithout(error) bool { return false }
