package audit

import (
	"os"

	"golang.org/x/sys/windows"
)

// fullErrors are what writing fails with where there is no more space.
var fullErrors = []error{windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, windows.ERROR_DISK_QUOTA_EXCEEDED}

// openFile opens a file so that another process can rename it meanwhile, which
// os.OpenFile does not allow, and opens a link instead of what it points to.
func openFile(path string, flag int) (*os.File, error) {
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

// isLink: links are opened here, and found by their mode.
func isLink(error) bool { return false }

// syncDir has nothing to do: names are durable when they are there.
func syncDir(string) error { return nil }
