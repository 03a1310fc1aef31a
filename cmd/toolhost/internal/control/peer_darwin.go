package control

import (
	"golang.org/x/sys/unix"
)

// localPeerPID is LOCAL_PEERPID of <sys/un.h>.
const localPeerPID = 2

func peerOf(fd int) (peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	pid, _ := unix.GetsockoptInt(fd, unix.SOL_LOCAL, localPeerPID) // 0 if it fails
	return peer{uid: int(cred.Uid), pid: pid}, nil
}

func binaryOf(int) (binary, name string) { return "", "" }
