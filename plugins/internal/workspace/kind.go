package workspace

import "io/fs"

// Kind is the kind of a file.
type Kind string

// The kinds. Other is a named pipe, a socket or a device.
const (
	File    Kind = "file"
	Dir     Kind = "dir"
	Symlink Kind = "symlink"
	Other   Kind = "other"
)

func kindOf(mode fs.FileMode) Kind {
	switch mode.Type() {
	case 0:
		return File
	case fs.ModeDir:
		return Dir
	case fs.ModeSymlink:
		return Symlink
	default:
		return Other
	}
}

// describe returns the kind in detail, with its article.
func describe(mode fs.FileMode) string {
	switch t := mode.Type(); {
	case t == 0:
		return "a regular file"
	case t&fs.ModeDir != 0:
		return "a directory"
	case t&fs.ModeSymlink != 0:
		return "a symbolic link"
	case t&fs.ModeNamedPipe != 0:
		return "a named pipe"
	case t&fs.ModeSocket != 0:
		return "a socket"
	case t&fs.ModeCharDevice != 0:
		return "a character device"
	case t&fs.ModeDevice != 0:
		return "a block device"
	}
	return "a special file"
}

// requireKind refuses a file that is not of the kind wanted, [File] or [Dir].
func requireKind(want Kind, given string, mode fs.FileMode) error {
	got := kindOf(mode)
	switch {
	case got == want:
		return nil
	case want == Dir:
		return newFault(nil, "%s is %s, not a directory (give the path of a directory)", Show(given), describe(mode))
	case got == Dir:
		return newFault(nil, "%s is a directory, not a regular file (give the path of a file)", Show(given))
	}
	return newFault(nil, "%s is %s, not a regular file (only regular files can be read or written)",
		Show(given), describe(mode))
}
