//go:build !unix && !windows

package main

import "errors"

func openTerminal() (terminal, error) { return nil, errors.ErrUnsupported }
