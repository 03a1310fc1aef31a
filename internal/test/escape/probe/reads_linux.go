package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// reads are ways to a file outside of the workspace.
func reads() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"read-path": func(w *escape.World) escape.Answer { return content(w.Secret) },
		"read-dots": func(w *escape.World) escape.Answer {
			up, err := filepath.Rel(w.Workspace, w.Secret)
			if err != nil {
				return inconclusive("%v", err)
			}
			fd, err := unix.Openat(unix.AT_FDCWD, up, unix.O_RDONLY|unix.O_CLOEXEC, 0)
			return contentOf(fd, err)
		},
		"read-link":     func(w *escape.World) escape.Answer { return content(filepath.Join(w.Workspace, "out")) },
		"read-door":     func(w *escape.World) escape.Answer { return content(filepath.Join(w.Workspace, "door", "secret")) },
		"read-race":     inScratch(readRace),
		"read-hardlink": inScratch(readLinked),
		"read-opath":    readThroughPath,
		"read-root":     func(w *escape.World) escape.Answer { return content("/proc/self/root" + w.Secret) },
		"read-thread": func(w *escape.World) escape.Answer {
			return content("/proc/thread-self/cwd/../" + filepath.Base(w.Outside) + "/secret")
		},
		"read-first": func(w *escape.World) escape.Answer {
			if self, _ := os.Readlink("/proc/self"); self == "1" {
				return denied("it is process 1 of its own namespace")
			}
			return content("/proc/1/root" + w.Secret)
		},
		"read-openat2": func(w *escape.World) escape.Answer {
			fd, err := unix.Openat2(unix.AT_FDCWD, w.Secret, &unix.OpenHow{Flags: unix.O_RDONLY | unix.O_CLOEXEC})
			return contentOf(fd, err)
		},
		"read-neighbour-root": func(w *escape.World) escape.Answer { return content(proc(w.Neighbour, "root"+w.Secret)) },
		"read-neighbour-cwd":  func(w *escape.World) escape.Answer { return content(proc(w.Neighbour, "cwd/secret")) },
		"read-neighbour-file": func(w *escape.World) escape.Answer {
			return content(proc(w.Neighbour, "fd/"+strconv.Itoa(w.Neighbour.File)))
		},
		"read-host-root": func(w *escape.World) escape.Answer { return content(proc(w.Host, "root"+w.Secret)) },
		"read-host-file": func(w *escape.World) escape.Answer { return content(proc(w.Host, "fd/"+strconv.Itoa(w.Host.File))) },
		"read-handle":    readHandle,
		"read-inherited": readInherited,
		"read-tmp":       func(w *escape.World) escape.Answer { return content(filepath.Join(w.Tmp, "secret")) },
		"read-shm":       func(w *escape.World) escape.Answer { return content(filepath.Join(w.Shm, "secret")) },
		"read-sealed":    func(w *escape.World) escape.Answer { return content(w.Sealed) },
		"list-outside": func(w *escape.World) escape.Answer {
			entries, err := os.ReadDir(w.Outside)
			if err == nil && len(entries) == 0 {
				return denied("the directory is empty")
			}
			return outcome(err)
		},
		"stat-outside": func(w *escape.World) escape.Answer {
			_, err := os.Stat(w.Secret)
			return outcome(err)
		},
		"attributes-outside": func(w *escape.World) escape.Answer {
			_, err := unix.Lgetxattr(w.Secret, "user.none", nil)
			return reached(err, unix.ENODATA)
		},
		"link-outside": func(w *escape.World) escape.Answer {
			_, err := unix.Readlink(w.Secret, make([]byte, 1))
			return reached(err, unix.EINVAL)
		},
		"watch-outside": func(w *escape.World) escape.Answer {
			fd, err := unix.InotifyInit1(unix.IN_CLOEXEC)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(fd) }()
			_, err = unix.InotifyAddWatch(fd, w.Outside, unix.IN_ALL_EVENTS)
			return outcome(err)
		},
	}
}

// proc is a path below a process in /proc.
func proc(v escape.Victim, rest string) string { return fmt.Sprintf("/proc/%d/%s", v.PID, rest) }

func contentOf(fd int, err error) escape.Answer {
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = unix.Close(fd) }()
	text := make([]byte, 4096)
	n, err := unix.Read(fd, text)
	if err != nil {
		return outcome(err)
	}
	return found(text[:n])
}

// readRace reads a path of its own, which is exchanged for a link to the outside and back.
func readRace(w *escape.World, dir string) escape.Answer {
	path, other := dir+"/turn", dir+"/other"
	if err := errors.Join(os.Mkdir(path, 0o700), os.WriteFile(path+"/secret", nil, 0o600), os.Symlink(w.Outside, other)); err != nil {
		return outcome(err)
	}
	end, ended := make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for {
			select {
			case <-end:
				return
			default:
				_ = unix.Renameat2(unix.AT_FDCWD, path, unix.AT_FDCWD, other, unix.RENAME_EXCHANGE)
				runtime.Gosched()
			}
		}
	}()
	defer func() { close(end); <-ended }()
	var last error
	for through, until := 0, time.Now().Add(patience/2); through < 100 && time.Now().Before(until); runtime.Gosched() {
		text, err := os.ReadFile(path + "/secret")
		if err == nil && len(text) > 0 {
			return found(text)
		}
		if err != nil { // it went through the link
			last = err
			through++
		}
	}
	if last == nil {
		return inconclusive("only the directory of its own was ever there")
	}
	return outcome(last)
}

// readLinked reads through a hard link.
func readLinked(w *escape.World, dir string) escape.Answer {
	var last error
	for _, link := range []string{filepath.Join(w.Workspace, w.Nonce), dir + "/link"} {
		if last = os.Link(w.Secret, link); last == nil {
			defer func() { _ = os.Remove(link) }()
			return content(link)
		}
	}
	return outcome(last)
}

// readThroughPath opens the descriptor of a path, which takes no right to read.
func readThroughPath(w *escape.World) escape.Answer {
	fd, err := unix.Open(w.Secret, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return outcome(err)
	}
	defer func() { _ = unix.Close(fd) }()
	return content("/proc/self/fd/" + strconv.Itoa(fd))
}

// readHandle opens the file by its number in the file system that the workspace is on too.
func readHandle(w *escape.World) escape.Answer {
	if len(w.Handle) == 0 {
		return escape.Answer{Outcome: escape.Unavailable, Note: "the file system has no handles"}
	}
	fd, err := openHandle(w, unix.O_RDONLY)
	if errors.Is(err, unix.ESTALE) { // another file system
		return denied(err.Error())
	}
	return contentOf(fd, err)
}

func openHandle(w *escape.World, flags int) (int, error) {
	var last error
	for _, dir := range []string{w.Workspace, ".", "/"} {
		mount, err := unix.Open(dir, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_CLOEXEC, 0)
		if err != nil {
			last = errors.Join(err, last)
			continue
		}
		fd, err := unix.OpenByHandleAt(mount, unix.NewFileHandle(w.HandleType, w.Handle), flags|unix.O_CLOEXEC)
		_ = unix.Close(mount)
		if err == nil {
			return fd, nil
		}
		if last == nil || errors.Is(err, unix.EPERM) {
			last = err
		}
	}
	return -1, last
}

// readInherited looks for the secret in whatever was open when the program began.
func readInherited(*escape.World) escape.Answer {
	for fd := 3; fd < 1024; fd++ {
		target, err := os.Readlink("/proc/self/fd/" + strconv.Itoa(fd))
		if err != nil || !strings.HasPrefix(target, "/") {
			continue
		}
		text := make([]byte, 4096)
		if n, err := unix.Pread(fd, text, 0); err == nil && bytes.HasPrefix(text[:n], []byte(escape.SecretPrefix)) {
			return found(text[:n])
		}
		if dir, err := unix.Openat(fd, "secret", unix.O_RDONLY|unix.O_CLOEXEC, 0); err == nil {
			return contentOf(dir, nil)
		}
	}
	return denied("nothing is open that it did not open itself")
}
