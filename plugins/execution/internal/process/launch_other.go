//go:build !unix

package process

import (
	"errors"
	"os"
)

func executable() (string, error) { return os.Executable() }

func inSandbox() bool { return false }

func (Limits) become(string, []string, []string) error {
	return errors.New("launching a program: this system has no limits to set")
}
