package main

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// openTerminal opens the console of this process, wherever its standard streams
// lead. It has a file for each direction.
func openTerminal() (terminal, error) {
	in, err := os.OpenFile("CONIN$", os.O_RDWR, 0)
	if err != nil {
		return nil, err
	}
	out, err := os.OpenFile("CONOUT$", os.O_RDWR, 0)
	if err != nil {
		return nil, errors.Join(err, in.Close())
	}
	return console{in, out}, nil
}

type console struct{ in, out *os.File }

func (c console) Read(b []byte) (int, error)  { return c.in.Read(b) }
func (c console) Write(b []byte) (int, error) { return c.out.Write(b) }
func (c console) Close() error                { return errors.Join(c.in.Close(), c.out.Close()) }

// discard forgets what was typed and not read.
func (c console) discard() error { return windows.FlushConsoleInputBuffer(windows.Handle(c.in.Fd())) }
