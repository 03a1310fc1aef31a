package main

import (
	"errors"
	"os"
	"path/filepath"
	"strconv"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// New is added to a target's name for what is made next to it.
const newName = ".new"

// ways are the ways to change a file, as the test sees it. Some make a file next to it.
var ways = map[string]func(*escape.World) error{
	"write": func(w *escape.World) error { return scribble(w.Target) },
	"mmap": func(w *escape.World) error {
		f, err := os.OpenFile(w.Target, os.O_RDWR, 0)
		if err != nil {
			return err
		}
		defer func() { _ = f.Close() }()
		page, err := unix.Mmap(int(f.Fd()), 0, 1, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED)
		if err != nil {
			return err
		}
		page[0] ^= 0xff
		return unix.Munmap(page)
	},
	"truncate": func(w *escape.World) error { return unix.Truncate(w.Target, 0) },
	"create": func(w *escape.World) error {
		return os.WriteFile(w.Target+newName, nil, 0o600)
	},
	"tmpfile": func(w *escape.World) error {
		fd, err := unix.Open(filepath.Dir(w.Target), unix.O_TMPFILE|unix.O_RDWR|unix.O_CLOEXEC, 0o600)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		return unix.Linkat(unix.AT_FDCWD, "/proc/self/fd/"+strconv.Itoa(fd), unix.AT_FDCWD, w.Target+newName, unix.AT_SYMLINK_FOLLOW)
	},
	"mkdir":       func(w *escape.World) error { return os.Mkdir(w.Target+newName, 0o700) },
	"fifo":        func(w *escape.World) error { return unix.Mkfifo(w.Target+newName, 0o600) },
	"symlink":     func(w *escape.World) error { return os.Symlink("inside", w.Target+newName) },
	"link":        func(w *escape.World) error { return os.Link(w.Mine, w.Target+newName) },
	"rename-over": func(w *escape.World) error { return os.Rename(w.Mine, w.Target) },
	"rename-away": func(w *escape.World) error { return os.Rename(w.Target, w.Mine) },
	"exchange": func(w *escape.World) error {
		return unix.Renameat2(unix.AT_FDCWD, w.Mine, unix.AT_FDCWD, w.Target, unix.RENAME_EXCHANGE)
	},
	"unlink": func(w *escape.World) error { return unix.Unlink(w.Target) },
	"chmod":  func(w *escape.World) error { return unix.Chmod(w.Target, 0o640) },
	"chown":  func(w *escape.World) error { return unix.Lchown(w.Target, os.Getuid(), os.Getgid()) },
	"xattr":  func(w *escape.World) error { return unix.Setxattr(w.Target, "user.probe", []byte("x"), 0) },
	"utimes": func(w *escape.World) error {
		epoch := []unix.Timespec{{Sec: 1}, {Sec: 1}}
		return unix.UtimesNanoAt(unix.AT_FDCWD, w.Target, epoch, 0)
	},
	// A descriptor that was opened for reading is enough for it.
	"flags": func(w *escape.World) error {
		fd, err := unix.Open(w.Target, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		flags, err := unix.IoctlGetInt(fd, unix.FS_IOC_GETFLAGS)
		if err != nil {
			return err
		}
		const noDump = 0x40
		return unix.IoctlSetPointerInt(fd, unix.FS_IOC_SETFLAGS, flags|noDump)
	},
	"version": func(w *escape.World) error {
		fd, err := unix.Open(w.Target, unix.O_RDONLY|unix.O_CLOEXEC, 0)
		if err != nil {
			return err
		}
		defer func() { _ = unix.Close(fd) }()
		const setVersion = 0x40087602 // FS_IOC_SETVERSION
		return unix.IoctlSetPointerInt(fd, setVersion, 12345)
	},
	"through-link": func(w *escape.World) error {
		link := filepath.Join(w.Workspace, w.Nonce)
		if err := os.Symlink(w.Target, link); err != nil {
			return err
		}
		return errors.Join(scribble(link), os.Remove(link))
	},
	"through-hard-link": func(w *escape.World) error {
		link := filepath.Join(w.Workspace, w.Nonce)
		if err := os.Link(w.Target, link); err != nil {
			return err
		}
		return errors.Join(scribble(link), os.Remove(link))
	},
	"parent": func(w *escape.World) error {
		dir := filepath.Dir(w.Target)
		return os.Rename(dir, dir+newName)
	},
}

func scribble(path string) error {
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	_, err = f.WriteString("written by the probe")
	return errors.Join(err, f.Close())
}

// writes are the changes of files outside of the workspace, and of protected ones in it. The
// world of each has the target.
func writes() map[string]func(*escape.World) escape.Answer {
	all := map[string]func(*escape.World) escape.Answer{}
	for name, way := range ways {
		f := func(w *escape.World) escape.Answer { return outcome(way(w)) }
		all["outside-"+name], all["protected-"+name] = f, f
	}
	// What is protected need not be there yet.
	all["protected-handle"] = func(w *escape.World) escape.Answer {
		if len(w.Handle) == 0 {
			return escape.Answer{Outcome: escape.Unavailable, Note: "the file system has no handles"}
		}
		fd, err := openHandle(w, unix.O_WRONLY)
		if errors.Is(err, unix.ESTALE) { // another file system
			return denied(err.Error())
		} else if err != nil {
			return outcome(err)
		}
		_, err = unix.Write(fd, []byte("written by the probe"))
		return outcome(errors.Join(err, unix.Close(fd)))
	}
	all["protected-missing"] = all["protected-create"]
	all["workspace-version"] = all["outside-version"]
	for _, name := range []string{"outside-through-link", "outside-through-hard-link", "outside-parent", "outside-version", "protected-version"} {
		delete(all, name)
	}
	for _, name := range []string{"protected-tmpfile", "protected-mkdir", "protected-fifo", "protected-symlink", "protected-link"} {
		delete(all, name)
	}
	return all
}

// shared are what processes of a machine have in common besides files.
func shared() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"tmp-write": func(w *escape.World) escape.Answer { return outcome(ways["create"](w)) },
		"shm-write": func(w *escape.World) escape.Answer { return outcome(ways["create"](w)) },
		"segment": func(w *escape.World) escape.Answer {
			text, err := unix.SysvShmAttach(w.Segment, 0, unix.SHM_RDONLY)
			if err != nil {
				a := outcome(err)
				if errors.Is(err, unix.EINVAL) { // there is none of that number
					a.Outcome = escape.Denied
				}
				return a
			}
			a := found(text[:w.Neighbour.Length])
			_ = unix.SysvShmDetach(text)
			return a
		},
		"queue": func(w *escape.World) escape.Answer {
			fd, err := call(unix.SYS_MQ_OPEN, w.Queue, unix.O_RDONLY|unix.O_NONBLOCK|unix.O_CLOEXEC)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(int(fd)) }()
			text := make([]byte, 8192)
			n, err := call(unix.SYS_MQ_TIMEDRECEIVE, fd, text, len(text), 0, 0)
			if err != nil {
				return outcome(err)
			}
			return found(text[:n])
		},
		"terminal-write": func(w *escape.World) escape.Answer {
			f, err := os.OpenFile(w.Terminal, os.O_RDWR|unix.O_NOCTTY, 0)
			if err != nil {
				return outcome(err)
			}
			_, err = f.WriteString(w.Nonce + "\n")
			return outcome(errors.Join(err, f.Close()))
		},
		"terminal-type": func(w *escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_SETSID)
			fd := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, w.Terminal, unix.O_RDWR|unix.O_NOCTTY, 0)
			c.try(unix.SYS_IOCTL, fd, unix.TIOCSCTTY, 1)
			c.do(unix.SYS_IOCTL, fd, unix.TIOCSTI, []byte("y"))
			return outcome(c.run())
		},
		"disk": func(*escape.World) escape.Answer {
			return opensOne("vda", "sda", "sg0", "nvme0", "nvme0n1", "xvda", "mmcblk0", "loop0", "zram0", "dm-0", "ram0")
		},
		"console":      func(*escape.World) escape.Answer { return opensOne("console", "tty1", "ttyS0", "vcs1", "kmsg") },
		"own-terminal": func(*escape.World) escape.Answer { return onTerminal(func(*child, result) {}) },
		"terminal-type-own": func(*escape.World) escape.Answer {
			return onTerminal(func(c *child, fd result) { c.do(unix.SYS_IOCTL, fd, unix.TIOCSTI, []byte("y")) })
		},
		"make-device": inScratch(func(_ *escape.World, dir string) escape.Answer {
			path := dir + "/null"
			if err := unix.Mknod(path, unix.S_IFCHR|0o600, int(unix.Mkdev(1, 3))); err != nil {
				return outcome(err)
			}
			fd, err := unix.Open(path, unix.O_RDWR|unix.O_CLOEXEC, 0)
			if err == nil {
				_ = unix.Close(fd)
			}
			return outcome(err)
		}),
		"proc-sys": func(*escape.World) escape.Answer { return opensForWriting("/proc/sys/kernel/core_pattern") },
		"sys": func(*escape.World) escape.Answer {
			return opensForWriting("/sys/kernel/mm/transparent_hugepage/enabled")
		},
	}
}

// onTerminal makes a terminal, which is a child's that carries out more.
func onTerminal(more func(c *child, fd result)) escape.Answer {
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = person.Close() }()
	if err := unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0); err != nil {
		return outcome(err)
	}
	const peer = 0x5441 // TIOCGPTPEER
	var c child
	c.do(unix.SYS_SETSID)
	fd := c.do(unix.SYS_IOCTL, int(person.Fd()), peer, unix.O_RDWR|unix.O_NOCTTY)
	c.do(unix.SYS_IOCTL, fd, unix.TIOCSCTTY, 0)
	more(&c, fd)
	return outcome(c.run())
}

// opensOne opens the first of these devices that it can.
func opensOne(names ...string) escape.Answer {
	var last error
	for _, name := range names {
		fd, err := unix.Open("/dev/"+name, unix.O_RDONLY|unix.O_CLOEXEC|unix.O_NONBLOCK|unix.O_NOCTTY, 0)
		if err == nil {
			_ = unix.Close(fd)
			return done("/dev/" + name)
		}
		if last == nil || !errors.Is(err, unix.ENOENT) {
			last = err
		}
	}
	return outcome(last)
}

// opensForWriting opens a file of the system, and does not write.
func opensForWriting(path string) escape.Answer {
	fd, err := unix.Open(path, unix.O_WRONLY|unix.O_CLOEXEC, 0)
	if err == nil {
		_ = unix.Close(fd)
	}
	return outcome(err)
}
