//go:build !unix

package process

import "errors"

func (Limits) become(string, []string, []string) error {
	return errors.New("launching a program: this system has no limits to set")
}
