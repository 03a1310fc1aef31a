//go:build unix

package main

import (
	"io"
	"os"
)

// openTerminal opens the terminal that this process belongs to, wherever its
// standard streams lead.
func openTerminal() (io.ReadWriteCloser, error) { return os.OpenFile("/dev/tty", os.O_RDWR, 0) }
