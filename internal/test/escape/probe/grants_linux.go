package main

import (
	"bytes"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"unsafe"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/escape"
)

// grants are what plugins have to be able to do, some of it if they were granted it.
func grants() map[string]func(*escape.World) escape.Answer {
	return map[string]func(*escape.World) escape.Answer{
		"workspace-read": func(w *escape.World) escape.Answer { return content(filepath.Join(w.Workspace, "inside")) },
		"workspace-list": func(w *escape.World) escape.Answer {
			entries, err := os.ReadDir(w.Workspace)
			for _, e := range entries {
				if e.Name() == "inside" {
					return done("")
				}
			}
			if err == nil {
				return denied("the directory is empty")
			}
			return outcome(err)
		},
		"workspace-write": func(w *escape.World) escape.Answer { return outcome(os.WriteFile(w.Target, []byte(w.Nonce), 0o600)) },
		"workspace-change": func(w *escape.World) escape.Answer {
			dir := filepath.Join(w.Workspace, w.Nonce)
			return outcome(errors.Join(os.Mkdir(dir, 0o700), os.WriteFile(dir+"/a", nil, 0o600), os.Rename(dir+"/a", dir+"/b"),
				os.Symlink("b", dir+"/a"), os.Chmod(dir+"/b", 0o400), os.Remove(dir+"/b"), os.RemoveAll(dir)))
		},
		"system-files": func(*escape.World) escape.Answer {
			for _, path := range []string{"/etc/ld.so.cache", "/lib64/ld-linux-x86-64.so.2", "/lib/ld-linux-aarch64.so.1", "/etc/alpine-release"} {
				if text, err := os.ReadFile(path); err == nil && len(text) > 0 {
					return done(path)
				} else if !errors.Is(err, os.ErrNotExist) {
					return outcome(err)
				}
			}
			return denied("no file of the system is there")
		},
		"certificates": func(*escape.World) escape.Answer {
			for _, path := range []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/ca-bundle.pem", "/etc/ssl/cert.pem"} {
				if text, err := os.ReadFile(path); err == nil && bytes.Contains(text, []byte("BEGIN CERTIFICATE")) {
					return done(path)
				}
			}
			return denied("no certificates are there")
		},
		"own-tmp": func(w *escape.World) escape.Answer {
			dir := os.TempDir()
			path := filepath.Join(dir, w.Nonce)
			if err := os.WriteFile(path, []byte(w.Nonce), 0o600); err != nil {
				return outcome(err)
			}
			text, err := os.ReadFile(path)
			return outcome(errors.Join(err, os.Remove(path), same(string(text), w.Nonce)))
		},
		"devices": func(*escape.World) escape.Answer {
			null, err := os.OpenFile("/dev/null", os.O_RDWR, 0)
			if err != nil {
				return outcome(err)
			}
			_, err = null.WriteString("x")
			random, openErr := os.Open("/dev/urandom")
			err = errors.Join(err, openErr, null.Close())
			if err == nil {
				_, err = random.Read(make([]byte, 8))
				err = errors.Join(err, random.Close())
			}
			return outcome(err)
		},
		"proc-self": func(*escape.World) escape.Answer {
			for _, file := range []string{"status", "maps", "stat", "cmdline", "limits", "mountinfo"} {
				if text, err := os.ReadFile("/proc/self/" + file); err != nil || len(text) == 0 {
					return outcome(fmt.Errorf("%s: %w", file, err))
				}
			}
			return done("")
		},
		"threads": func(*escape.World) escape.Answer {
			var all sync.WaitGroup
			begun := make(chan struct{})
			for range 32 {
				all.Go(func() { <-begun })
			}
			close(begun)
			all.Wait()
			return done("")
		},
		"fork": func(*escape.World) escape.Answer {
			var c child
			c.do(unix.SYS_GETPID)
			return outcome(c.run())
		},
		"signal-child": func(*escape.World) escape.Answer {
			c := child{}
			c.do(unix.SYS_PPOLL, 0, 0, 0, 0, 0)
			if err := c.start(); err != nil {
				return outcome(err)
			}
			if err := unix.Kill(c.pid, unix.SIGTERM); err != nil {
				_ = unix.Kill(c.pid, unix.SIGKILL)
				_ = c.wait()
				return outcome(err)
			}
			if err := c.wait(); !errors.Is(err, errEnded) {
				return inconclusive("%v", err)
			}
			return done("")
		},
		"own-code": func(*escape.World) escape.Answer {
			code, err := executable(returns)
			if err == nil {
				code()
			}
			return outcome(err)
		},
		"own-seccomp": func(*escape.World) escape.Answer {
			allow := []unix.SockFilter{{Code: unix.BPF_RET | unix.BPF_K, K: 0x7fff0000}}
			program := unix.SockFprog{Len: 1, Filter: &allow[0]}
			var c child
			c.do(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			c.kept = append(c.kept, allow)
			c.do(unix.SYS_SECCOMP, 1, 0, unsafe.Pointer(&program))
			return outcome(c.run())
		},
		"own-landlock": func(*escape.World) escape.Answer {
			attr := unix.LandlockRulesetAttr{Handled_access_fs: unix.LANDLOCK_ACCESS_FS_EXECUTE}
			var c child
			c.do(unix.SYS_PRCTL, unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0)
			rules := c.do(unix.SYS_LANDLOCK_CREATE_RULESET, unsafe.Pointer(&attr), 8, 0)
			c.do(unix.SYS_LANDLOCK_RESTRICT_SELF, rules, 0)
			return outcome(c.run())
		},
		"high-descriptor": func(*escape.World) escape.Answer {
			const high = 1000
			if _, err := unix.FcntlInt(high, unix.F_GETFD, 0); err == nil {
				return inconclusive("descriptor %d is open", high)
			}
			if err := unix.Dup3(2, high, unix.O_CLOEXEC); err != nil {
				return outcome(err)
			}
			return outcome(unix.Close(high))
		},
	}
}

func same(have, want string) error {
	if strings.TrimSpace(have) != want {
		return fmt.Errorf("%q was read back: %w", have, unix.EIO)
	}
	return nil
}
