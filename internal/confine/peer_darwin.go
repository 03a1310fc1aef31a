package confine

import "golang.org/x/sys/unix"

// localPeerPID is LOCAL_PEERPID of <sys/un.h>.
const localPeerPID = 2

func credentials(fd int) (uid, pid int, err error) {
	cred, err := unix.GetsockoptXucred(fd, unix.SOL_LOCAL, unix.LOCAL_PEERCRED)
	if err != nil {
		return 0, 0, err
	}
	pid, _ = unix.GetsockoptInt(fd, unix.SOL_LOCAL, localPeerPID) // 0 if it fails
	return int(cred.Uid), pid, nil
}
