package doctor

import (
	"fmt"

	"golang.org/x/sys/unix"
)

// spaceOf returns what the file system of a directory has.
func spaceOf(dir string) (space, bool) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return space{}, false
	}
	return space{
		id: fmt.Sprint(s.Fsid), free: uint64(s.Bavail) * uint64(s.Bsize), //nolint:gosec,unconvert // the types differ by system
		files: uint64(s.Files), filesFree: uint64(s.Ffree), //nolint:gosec,unconvert // as above
	}, true
}

// mountedNoexec reports whether the system runs no files of a directory.
func mountedNoexec(dir string) bool {
	var s unix.Statfs_t
	return unix.Statfs(dir, &s) == nil && uint64(s.Flags)&noexec != 0 //nolint:gosec // as above
}

// descriptorLimit returns how many files this process, and a host like it, may have open.
func descriptorLimit() (uint64, bool) {
	var l unix.Rlimit
	err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l)
	return uint64(l.Cur), err == nil //nolint:gosec,unconvert // as above
}

// mayWrite reports whether this user may make files in a directory.
func mayWrite(dir string) error {
	if err := unix.Access(dir, unix.W_OK|unix.X_OK); err != nil {
		return fmt.Errorf("%s: %w", dir, err)
	}
	return nil
}
