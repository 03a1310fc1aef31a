//go:build darwin || freebsd

package control

import (
	"runtime"

	"golang.org/x/sys/unix"
)

// localPeerPID is LOCAL_PEERPID of macOS's <sys/un.h>; FreeBSD has no such option.
const localPeerPID = 2

func peerOf(fd int) (peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	p := peer{uid: int(cred.Uid)}
	if runtime.GOOS == "darwin" {
		p.pid, _ = unix.GetsockoptInt(fd, unix.SOL_LOCAL, localPeerPID) // 0 if it fails
	}
	return p, nil
}

func binaryOf(int) (binary, name string) { return "", "" }
