//go:build unix

package pluginsdk

import "syscall"

// sizeLimit returns how many bytes a file may have that this process writes; 0: there is no limit.
func sizeLimit() int64 {
	var limit syscall.Rlimit
	if syscall.Getrlimit(syscall.RLIMIT_FSIZE, &limit) != nil || int64(limit.Cur) < 0 || int64(limit.Cur) == 1<<63-1 { //nolint:gosec,unconvert,nolintlint // its type differs
		return 0
	}
	return int64(limit.Cur) //nolint:gosec,unconvert,nolintlint // its type differs
}
