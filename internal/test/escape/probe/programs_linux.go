package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// programs are ways to run a program. Each prints the nonce.
func programs() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"exec-listed":   func(w *escape.World) escape.Answer { return execve(w.Program, w.Program, w.Nonce) },
		"exec-unlisted": func(w *escape.World) escape.Answer { return execve(w.Unlisted, w.Unlisted, w.Nonce) },
		"exec-shell":    func(w *escape.World) escape.Answer { return execve("/bin/sh", "sh", "-c", "echo "+w.Nonce) },
		"exec-spawn": func(w *escape.World) escape.Answer {
			out, err := exec.Command(w.Unlisted, w.Nonce).CombinedOutput() //nolint:noctx // it ends at once
			if err != nil {
				return outcome(fmt.Errorf("%w: %s", err, out))
			}
			return found(out)
		},
		"exec-descriptor": func(w *escape.World) escape.Answer {
			fd, err := unix.Open(w.Unlisted, unix.O_PATH|unix.O_CLOEXEC, 0)
			if err != nil {
				return outcome(err)
			}
			defer func() { _ = unix.Close(fd) }()
			return execDescriptor(fd, w.Unlisted, w.Nonce)
		},
		"exec-memory": func(w *escape.World) escape.Answer {
			text, err := os.ReadFile(w.Unlisted)
			if err != nil {
				return outcome(err)
			}
			fd, err := unix.MemfdCreate("probe", unix.MFD_CLOEXEC)
			if err != nil {
				return outcome(err)
			}
			f := os.NewFile(uintptr(fd), "probe")
			defer func() { _ = f.Close() }()
			if _, err := f.Write(text); err != nil {
				return outcome(err)
			}
			held, err := os.Open("/proc/self/fd/" + strconv.Itoa(fd)) // one that can be written to is not run
			if err != nil {
				return outcome(err)
			}
			_ = f.Close()
			defer func() { _ = held.Close() }()
			return execDescriptor(int(held.Fd()), w.Unlisted, w.Nonce)
		},
		"exec-script": inScratch(func(w *escape.World, dir string) escape.Answer {
			path := dir + "/script"
			if err := os.WriteFile(path, []byte("#!/bin/sh\necho "+w.Nonce+"\n"), 0o700); err != nil { //nolint:gosec // a program
				return outcome(err)
			}
			return execve(path, path)
		}),
		"exec-loader": func(w *escape.World) escape.Answer {
			loader, err := loader()
			if err != nil {
				return escape.Answer{Outcome: escape.Unavailable, Note: err.Error()}
			}
			return execve(loader, loader, w.Unlisted, w.Nonce)
		},
		"exec-itself": func(w *escape.World) escape.Answer {
			return execve("/proc/self/exe", "probe", "echo", w.Nonce)
		},
		"exec-copy": inScratch(func(w *escape.World, dir string) escape.Answer {
			path := filepath.Join(dir, filepath.Base(w.Program)) // it looks like one that is on the list
			if err := copyProgram(w.Unlisted, path); err != nil {
				return outcome(err)
			}
			return execve(path, path, w.Nonce)
		}),
		"exec-workspace": func(w *escape.World) escape.Answer {
			path := filepath.Join(w.Workspace, "program")
			return execve(path, path, w.Nonce)
		},
		"exec-over-listed": func(w *escape.World) escape.Answer {
			fd, err := unix.Open(w.Program, unix.O_WRONLY|unix.O_CLOEXEC, 0) // and does not write
			// While it runs anywhere that is said before whether it may be written.
			for end := time.Now().Add(5 * time.Second); errors.Is(err, unix.ETXTBSY) && time.Now().Before(end); time.Sleep(time.Millisecond) {
				fd, err = unix.Open(w.Program, unix.O_WRONLY|unix.O_CLOEXEC, 0)
			}
			if err == nil {
				_ = unix.Close(fd)
				return done("")
			}
			return outcome(err)
		},
		"exec-setuid": func(w *escape.World) escape.Answer {
			if w.Setuid == "" {
				return escape.Answer{Outcome: escape.Unavailable, Note: "only root can make the program"}
			}
			a := execve(w.Setuid, w.Setuid, "euid")
			if a.Outcome != escape.Done {
				return a
			}
			if strings.TrimSpace(a.Found) == strconv.Itoa(os.Geteuid()) {
				return denied("the program ran as its caller")
			}
			return escape.Answer{Outcome: escape.Done, Found: w.Nonce, Note: "it ran as user " + strings.TrimSpace(a.Found)}
		},
	}
}

func execve(path string, args ...string) escape.Answer {
	var c child
	return c.exec(func(argv, envp unsafe.Pointer) { c.do(unix.SYS_EXECVE, path, argv, envp) }, args...)
}

func execDescriptor(fd int, args ...string) escape.Answer {
	var c child
	return c.exec(func(argv, envp unsafe.Pointer) {
		c.do(unix.SYS_EXECVEAT, fd, "", argv, envp, unix.AT_EMPTY_PATH)
	}, args...)
}

// loader is the dynamic loader, which runs whatever file it is given.
func loader() (string, error) {
	for _, pattern := range []string{"/lib64/ld-linux-*.so.*", "/lib/ld-linux-*.so.*", "/lib/ld-musl-*.so.*"} {
		if found, _ := filepath.Glob(pattern); len(found) > 0 {
			return found[0], nil
		}
	}
	return "", errors.New("the system has no dynamic loader")
}
