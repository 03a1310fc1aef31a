package safefile

import (
	"errors"
	"fmt"
	"os"
	"time"

	"golang.org/x/sys/unix"
)

// ErrLocked is returned by [Lock] when others keep the file locked.
var ErrLocked = errors.New("another process keeps it locked")

// LockMode says who else may lock a file.
type LockMode bool

// The modes.
const (
	Exclusive LockMode = false // no other process
	Shared    LockMode = true  // others who share it
)

// longestPause bounds the time between two attempts to lock a file.
const longestPause = 5 * time.Millisecond

// Lock locks an open file, and waits until deadline for others that hold its lock; with
// the zero time it tries once. The lock belongs to this handle and ends with it, however
// the process ends.
//
// # Errors
//
// [ErrLocked], and those of flock(2).
func Lock(f *os.File, mode LockMode, deadline time.Time) error {
	// Polling, as a wait inside flock(2) would not end if the holder was stopped.
	for pause := 50 * time.Microsecond; ; pause = min(2*pause, longestPause) {
		err := tryLock(f, mode)
		if err == nil {
			return nil
		}
		if !errors.Is(err, ErrLocked) {
			return fmt.Errorf("it cannot be locked: %w", err)
		}
		if time.Now().After(deadline) {
			return ErrLocked
		}
		time.Sleep(pause)
	}
}

func tryLock(f *os.File, mode LockMode) error {
	how := unix.LOCK_EX
	if mode == Shared {
		how = unix.LOCK_SH
	}
	for {
		err := unix.Flock(int(f.Fd()), how|unix.LOCK_NB)
		switch {
		case errors.Is(err, unix.EWOULDBLOCK):
			return ErrLocked
		case !errors.Is(err, unix.EINTR):
			return err
		}
	}
}

// Unlock unlocks a file.
func Unlock(f *os.File) error { return unix.Flock(int(f.Fd()), unix.LOCK_UN) }
