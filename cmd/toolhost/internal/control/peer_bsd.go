//go:build darwin || freebsd

package control

import "golang.org/x/sys/unix"

func peerOf(fd int) (peer, error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return peer{}, err
	}
	return peer{uid: int(cred.Uid), pid: pidOf(fd)}, nil
}

func binaryOf(int) (binary, name string) { return "", "" }
