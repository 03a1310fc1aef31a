package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// patiently lets a child do what it may have to repeat: the kernel counts the namespaces of those that have ended a little
// longer, and other attempts make some, too.
func patiently(steps func(*child)) (err error) {
	for until := time.Now().Add(10 * time.Second); time.Now().Before(until); time.Sleep(time.Millisecond) {
		var c child
		steps(&c)
		if err = c.run(); !errors.Is(err, unix.ENOSPC) {
			break
		}
	}
	return err
}

// namespaces are ways to have another view of the system, and with it other rights.
func namespaces() map[string]func(*escape.World) escape.Answer {
	all := map[string]func(*escape.World) escape.Answer{
		"clone-user": func(*escape.World) escape.Answer {
			var c child
			c.fork(unix.CLONE_NEWUSER | int(unix.SIGCHLD))
			c.do(unix.SYS_GETPID)
			return outcome(c.run())
		},
		"clone3-user": func(*escape.World) escape.Answer {
			args := struct{ flags, pidfd, childTID, parentTID, exitSignal, stack, stackSize, tls uint64 }{flags: unix.CLONE_NEWUSER, exitSignal: uint64(unix.SIGCHLD)}
			var c child
			c.steps = append(c.steps, step{number: unix.SYS_CLONE3, args: [6]uintptr{uintptr(unsafe.Pointer(&args)), unsafe.Sizeof(args)}, leaves: 1})
			c.kept = append(c.kept, &args)
			c.do(unix.SYS_GETPID)
			return outcome(c.run())
		},
		"namespaces-many": func(*escape.World) escape.Answer {
			var all []*child
			defer func() {
				for _, c := range all {
					_ = unix.Kill(c.pid, unix.SIGKILL)
					_ = c.wait()
				}
				_ = patiently(func(c *child) { c.do(unix.SYS_UNSHARE, unix.CLONE_NEWUSER) })
			}()
			for range escape.TakenNamespaces {
				c := &child{}
				made := c.do(unix.SYS_UNSHARE, unix.CLONE_NEWUSER)
				c.do(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
				if err := c.start(); err != nil {
					return outcome(err)
				}
				all = append(all, c)
				for atomic.LoadInt64(&c.out[made]) == notRun {
					time.Sleep(time.Millisecond)
				}
				if _, err := c.value(made); err != nil {
					return outcome(err)
				}
			}
			return done("")
		},
		// With a user namespace comes every right in it.
		"user-mount": inScratch(func(_ *escape.World, dir string) escape.Answer {
			return outcome(patiently(func(c *child) {
				c.do(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
				c.do(unix.SYS_MOUNT, "none", dir, "tmpfs", 0, 0)
			}))
		}),
		"user-network": func(*escape.World) escape.Answer {
			return outcome(patiently(func(c *child) {
				c.do(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNET)
				c.do(unix.SYS_SOCKET, unix.AF_PACKET, unix.SOCK_RAW, 0)
			}))
		},
		"user-unprotect": func(w *escape.World) escape.Answer {
			return outcome(patiently(func(c *child) {
				c.do(unix.SYS_UNSHARE, unix.CLONE_NEWUSER|unix.CLONE_NEWNS)
				c.try(unix.SYS_UMOUNT2, w.Target, unix.MNT_DETACH)
				c.try(unix.SYS_MOUNT, "none", w.Target, "none", unix.MS_REMOUNT|unix.MS_BIND, 0)
				fd := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, w.Target, unix.O_WRONLY, 0)
				c.do(unix.SYS_WRITE, fd, []byte("x"), 1)
			}))
		},
		"join-user":    func(w *escape.World) escape.Answer { return join(w, unix.CLONE_NEWUSER, "user") },
		"join-network": func(w *escape.World) escape.Answer { return join(w, unix.CLONE_NEWNET, "net") },
		"join-mounts":  func(w *escape.World) escape.Answer { return join(w, unix.CLONE_NEWNS, "mnt") },
		"join-pidfd": func(w *escape.World) escape.Answer {
			fd, err := unix.PidfdOpen(w.Apart.PID, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(fd) }()
			var c child
			c.do(unix.SYS_SETNS, fd, unix.CLONE_NEWUSER|unix.CLONE_NEWNET|unix.CLONE_NEWNS)
			return outcome(c.run())
		},
		"mount": inScratch(func(_ *escape.World, dir string) escape.Answer {
			var c child
			c.do(unix.SYS_MOUNT, "none", dir, "tmpfs", 0, 0)
			c.do(unix.SYS_UMOUNT2, dir, unix.MNT_DETACH)
			return outcome(c.run())
		}),
		"mount-bind": inScratch(func(w *escape.World, dir string) escape.Answer {
			shared, err := unix.Mmap(-1, 0, 4096, unix.PROT_READ|unix.PROT_WRITE, unix.MAP_SHARED|unix.MAP_ANONYMOUS)
			if err != nil {
				return outcome(err)
			}
			var c child
			c.do(unix.SYS_MOUNT, w.Outside, dir, "none", unix.MS_BIND, 0)
			fd := c.do(unix.SYS_OPENAT, unix.AT_FDCWD, dir+"/secret", unix.O_RDONLY, 0)
			n := c.do(unix.SYS_READ, fd, shared, len(shared))
			c.do(unix.SYS_UMOUNT2, dir, unix.MNT_DETACH)
			if err := c.run(); err != nil {
				return outcome(err)
			}
			length, err := c.value(n)
			if err != nil {
				return outcome(err)
			}
			return found(shared[:length])
		}),
		"remount": func(w *escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_MOUNT, "none", filepath.Join(w.Workspace, "no-mount"), "none", unix.MS_REMOUNT|unix.MS_BIND, 0)
			return reached(c.run(), unix.EINVAL)
		},
		"unmount": func(w *escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_UMOUNT2, filepath.Join(w.Workspace, "no-mount"), 0)
			return reached(c.run(), unix.EINVAL)
		},
		"mount-new": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_FSOPEN, "tmpfs", 1)
			return outcome(c.run())
		},
		"mount-tree": func(w *escape.World) escape.Answer {
			const clone = 1
			var c child
			c.do(unix.SYS_OPEN_TREE, unix.AT_FDCWD, w.Outside, clone)
			return outcome(c.run())
		},
		"pivot-root": inScratch(func(_ *escape.World, dir string) escape.Answer {
			var c child
			c.do(unix.SYS_PIVOT_ROOT, dir+"/none", dir+"/none")
			return reached(c.run(), unix.ENOENT)
		}),
		"chroot": inScratch(func(_ *escape.World, dir string) escape.Answer {
			var c child
			c.do(unix.SYS_CHROOT, dir)
			return outcome(c.run())
		}),
	}
	for name, flag := range map[string]int{
		"user": unix.CLONE_NEWUSER, "mounts": unix.CLONE_NEWNS, "pid": unix.CLONE_NEWPID, "network": unix.CLONE_NEWNET,
		"ipc": unix.CLONE_NEWIPC, "host-name": unix.CLONE_NEWUTS, "cgroup": unix.CLONE_NEWCGROUP, "time": unix.CLONE_NEWTIME,
	} {
		all["unshare-"+name] = func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_UNSHARE, flag)
			err := c.run()
			if errors.Is(err, unix.EINVAL) { // one that the kernel does not have
				return escape.Answer{Outcome: escape.Unavailable, Errno: "EINVAL"}
			}
			return outcome(err)
		}
	}
	return all
}

// join enters a namespace of a process that has its own, and the user namespace that the
// right to it comes from.
func join(w *escape.World, kind int, name string) escape.Answer {
	open := func(name string) (*os.File, error) { return os.Open(fmt.Sprintf("/proc/%d/ns/%s", w.Apart.PID, name)) }
	user, err := open("user")
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = user.Close() }()
	var c child
	c.do(unix.SYS_SETNS, int(user.Fd()), unix.CLONE_NEWUSER)
	if kind != unix.CLONE_NEWUSER {
		other, err := open(name)
		if err != nil {
			return outcome(err)
		}
		defer func() { _ = other.Close() }()
		c.do(unix.SYS_SETNS, int(other.Fd()), kind)
	}
	return outcome(c.run())
}
