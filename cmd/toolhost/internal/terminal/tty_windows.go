package terminal

import (
	"errors"
	"os"

	"golang.org/x/sys/windows"
)

// Open opens the console of this process, wherever its standard streams
// lead. There is a file for each direction.
func Open() (Terminal, error) {
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

// Discard implements [Terminal].
func (c console) Discard() error { return windows.FlushConsoleInputBuffer(windows.Handle(c.in.Fd())) }

// Foreground implements [Terminal].
func (console) Foreground() bool { return true }
