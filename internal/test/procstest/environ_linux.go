// Package procstest lets a test be a process that means harm to those who look at it.
package procstest

import (
	"fmt"
	"os"
	"strconv"
	"strings"
	"unsafe"

	"golang.org/x/sys/unix"
)

// Bloat is how large the environment of a process is said by [BloatEnviron] to be, in bytes. It could as
// well be 100 GiB, but others on this machine may look at it too.
const Bloat = 128 << 20

// processMap is struct prctl_mm_map of the kernel.
type processMap struct {
	startCode, endCode, startData, endData, startBrk, brk, startStack uint64
	argStart, argEnd, envStart, envEnd                                uint64
	auxv                                                              uint64
	auxvSize, exeFD                                                   uint32
}

// BloatEnviron lets this process's environment, as others see it, be zero pages, which
// cost it nothing: PR_SET_MM_MAP needs no right, though a kernel with
// CONFIG_CHECKPOINT_RESTORE.
func BloatEnviron() error {
	pages, _, errno := unix.Syscall6(unix.SYS_MMAP, 0, Bloat, unix.PROT_READ, unix.MAP_PRIVATE|unix.MAP_ANONYMOUS|unix.MAP_NORESERVE, ^uintptr(0), 0)
	if errno != 0 {
		return fmt.Errorf("mmap: %w", errno)
	}
	stat, err := os.ReadFile("/proc/self/stat")
	if err != nil {
		return err
	}
	fields := strings.Fields(string(stat[strings.LastIndex(string(stat), ") ")+2:])) // from the third on: proc_pid_stat(5)
	field := func(n int) uint64 {
		v, _ := strconv.ParseUint(fields[n-3], 10, 64)
		return v
	}
	m := processMap{
		startCode: field(26), endCode: field(27), startStack: field(28),
		startData: field(45), endData: field(46), startBrk: field(47), argStart: field(48), argEnd: field(49),
		envStart: uint64(pages), envEnd: uint64(pages) + Bloat, exeFD: ^uint32(0),
	}
	brk, _, _ := unix.Syscall(unix.SYS_BRK, 0, 0, 0)
	m.brk = uint64(brk)
	if err := unix.Prctl(unix.PR_SET_MM, unix.PR_SET_MM_MAP, uintptr(unsafe.Pointer(&m)), unsafe.Sizeof(m), 0); err != nil {
		return fmt.Errorf("PR_SET_MM_MAP: %w", err)
	}
	return nil
}
