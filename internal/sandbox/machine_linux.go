//go:build linux && (amd64 || arm64)

package sandbox

import (
	"io/fs"
	"os"
	"path/filepath"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/stage"
)

// closeSettings closes those below a directory, of which root is the owner.
func closeSettings(p *stage.Program, dir string) {
	for _, path := range settings {
		if os.Getuid() == 0 && within(dir, path) && exists(path) {
			bind(p, "close "+path, path, path)
			setAttributes(p, "close "+path, path, readOnly, 0)
		}
	}
}

// settings are files by which root, whatever its capabilities are, changes the kernel.
var settings = []string{"/proc/sys", "/proc/irq", "/proc/bus", "/proc/fs", "/proc/sysrq-trigger", "/sys"}

// kernelFiles are what the kernel tells root of itself, as container runtimes hide it.
var kernelFiles = []string{
	"acpi", "kallsyms", "kcore", "key-users", "keys", "kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "pagetypeinfo",
	"sched_debug", "scsi", "slabinfo", "timer_list", "timer_stats", "vmallocinfo",
}

// closeKernelFiles hides them from plugins of root. In a user namespace they are closed already, and a
// /proc without them would keep what it starts from having one of its own.
func closeKernelFiles(p *stage.Program) {
	for _, name := range kernelFiles {
		path := "/proc/" + name
		info, err := os.Stat(path)
		switch {
		case err != nil || os.Getuid() != 0:
		case info.IsDir():
			hide(p, path)
		default:
			bind(p, "hide "+path, os.DevNull, path)
		}
	}
}

// machineDevices are those of disks besides block devices, of the kernel's memory and log, and of the
// terminals of the machine.
var machineDevices = []string{
	"block", "bsg", "console", "disk", "hvc*", "kmem", "kmsg", "mapper", "mem", "mtd*", "ng[0-9]*", "nvme*", "oldmem", "port", "raw",
	"sg[0-9]*", "snapshot", "tty?*", "vcs*",
}

// closeDevices leaves these out of /dev, also those that come later, if they are root's to use.
func closeDevices(p *stage.Program) {
	const dir = "/dev"
	entries, err := os.ReadDir(dir)
	if err != nil || os.Getuid() != 0 {
		return
	}
	var kept []string
	links := map[string]string{}
	for _, e := range entries {
		path := filepath.Join(dir, e.Name())
		isDisk := e.Type()&(fs.ModeDevice|fs.ModeCharDevice) == fs.ModeDevice
		if isDisk || slices.ContainsFunc(machineDevices, func(pattern string) bool {
			matched, _ := filepath.Match(pattern, e.Name()) // no error but of the pattern
			return matched
		}) {
			continue
		}
		switch {
		case e.Name() == "ptmx": // as a mount it would not find the directory of its terminals
			links[path] = "pts/ptmx"
		case e.Type()&fs.ModeSymlink == 0:
			kept = append(kept, path)
		default:
			if target, err := os.Readlink(path); err == nil {
				links[path] = target
			}
		}
	}
	cover(p, dir, kept...)
	for path, target := range links {
		p.Try(0, unix.SYS_SYMLINKAT, p.Text(target), atCWD, p.Text(path))
	}
	seal(p, dir)
}

// closeSystem closes what its user may use and is not a file of anyone: what the kernel tells and has set,
// devices of the machine, and the terminals of others.
func closeSystem(p *stage.Program) {
	closeSettings(p, "/")
	closeKernelFiles(p)
	closeDevices(p)
	const terminals = "/dev/pts"
	if exists(terminals) {
		mountTmp(p, "hide "+terminals, terminals, 4096, "755")
		p.Try(0, unix.SYS_MOUNT, p.Text("devpts"), p.Text(terminals), p.Text("devpts"), unix.MS_NOSUID|unix.MS_NOEXEC, p.Text("newinstance,ptmxmode=0666,mode=620"))
	}
}
