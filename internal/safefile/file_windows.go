package safefile

import (
	"errors"
	"io/fs"
	"os"

	"golang.org/x/sys/windows"
)

// NoFollow has no effect here.
const NoFollow = 0

const noWait = 0

// fullErrors are the errors of writes that find no more space.
var fullErrors = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}

// openNoFollow opens a file so that another process can rename it meanwhile, which
// os.OpenFile does not allow, and opens a link instead of its target.
func openNoFollow(path string, flag int) (*os.File, error) {
	failed := func(err error) (*os.File, error) { return nil, &os.PathError{Op: "open", Path: path, Err: err} }
	name, err := windows.UTF16PtrFromString(path)
	if err != nil {
		return failed(err)
	}
	access, mode := uint32(windows.GENERIC_READ), uint32(windows.OPEN_EXISTING)
	if flag&os.O_RDWR != 0 {
		access |= windows.GENERIC_WRITE
	}
	if flag&os.O_CREATE != 0 {
		mode = windows.OPEN_ALWAYS
	}
	h, err := windows.CreateFile(name, access, windows.FILE_SHARE_READ|windows.FILE_SHARE_WRITE|windows.FILE_SHARE_DELETE,
		nil, mode, windows.FILE_ATTRIBUTE_NORMAL|windows.FILE_FLAG_OPEN_REPARSE_POINT, 0)
	if err != nil {
		return failed(err)
	}
	return os.NewFile(uintptr(h), path), nil
}

// SyncDir has nothing to do: names are durable once they are visible.
func SyncDir(string) error { return nil }

// Private is always true: mode bits do not say who may use a file here.
func Private(fs.FileInfo, fs.FileMode) bool { return true }

// Ours is always true.
func Ours(fs.FileInfo) bool { return true }

// OthersMayWrite is always false: mode bits do not say it here.
func OthersMayWrite(fs.FileInfo) bool { return false }

// lockedByte is far beyond the end of any file: other processes cannot read bytes that
// are locked here.
func lockedByte() *windows.Overlapped { return &windows.Overlapped{OffsetHigh: 1 << 30} }

func tryLock(f *os.File, mode LockMode) error {
	flags := uint32(windows.LOCKFILE_FAIL_IMMEDIATELY)
	if mode == Exclusive {
		flags |= windows.LOCKFILE_EXCLUSIVE_LOCK
	}
	err := windows.LockFileEx(windows.Handle(f.Fd()), flags, 0, 1, 0, lockedByte())
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) || errors.Is(err, windows.ERROR_IO_PENDING) {
		return ErrLocked
	}
	return err
}

// Unlock unlocks a file.
func Unlock(f *os.File) error {
	return windows.UnlockFileEx(windows.Handle(f.Fd()), 0, 1, 0, lockedByte())
}
