//go:build linux && (amd64 || arm64)

package sandbox

import (
	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// rootKeeps are root's rights over files of other users, of which a plugin of a host that runs
// as root keeps what it was granted. All others end with the stage.
var rootKeeps = []uint{unix.CAP_CHOWN, unix.CAP_DAC_OVERRIDE, unix.CAP_FOWNER, unix.CAP_FSETID}

// openKeeps is what of root's rights a plugin keeps whose needs are not known: those over files
// and users. The others are over the kernel, devices, the network of the machine, its clocks and
// the order in which processes run, by which it would reach the host and its neighbours, and to
// open files by their numbers, which no mount protects.
var openKeeps = append([]uint{
	unix.CAP_SETUID, unix.CAP_SETGID, unix.CAP_SETPCAP, unix.CAP_SETFCAP, unix.CAP_KILL, unix.CAP_NET_BIND_SERVICE, unix.CAP_SYS_CHROOT,
}, rootKeeps...)

// dropCapabilities takes capabilities from the process and from all that it starts
// (capabilities(7)). It may have too few to do so.
func dropCapabilities(p *stage.Program, keep []uint) {
	var kept [2]uint32
	for _, c := range keep {
		kept[c/32] |= 1 << (c % 32)
	}
	for c := range uint(unix.CAP_LAST_CAP + 1) {
		if kept[c/32]&(1<<(c%32)) == 0 {
			p.Try(0, unix.SYS_PRCTL, unix.PR_CAPBSET_DROP, uintptr(c), 0, 0, 0)
		}
	}
	p.Try(0, unix.SYS_PRCTL, unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0)
	head := p.Struct(uint32(unix.LINUX_CAPABILITY_VERSION_3), uint32(0))
	p.Try(0, unix.SYS_CAPSET, head, p.Struct(kept[0], kept[0], uint32(0), kept[1], kept[1], uint32(0)))
}
