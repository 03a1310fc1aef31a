package doctor

import "golang.org/x/sys/unix"

const noexec = unix.ST_NOEXEC
