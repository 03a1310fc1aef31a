//go:build unix

package process

import (
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/sandbox"
)

func (l Limits) become(path string, args, env []string) error {
	if err := tellNamespace(); err != nil {
		return fmt.Errorf("launching a program: %w", err)
	}
	closeOthers()
	bounds := []struct {
		what  int
		limit uint64
	}{{unix.RLIMIT_CORE, 0}, {unix.RLIMIT_CPU, l.CPU}, {unix.RLIMIT_FSIZE, l.File}, {unix.RLIMIT_DATA, l.Data}}
	for _, b := range bounds {
		if b.limit == 0 && b.what != unix.RLIMIT_CORE || b.what == unix.RLIMIT_DATA && l.Box != nil {
			continue
		}
		if err := lower(b.what, b.limit); err != nil {
			return fmt.Errorf("launching a program: setting limit %d to %d: %w", b.what, b.limit, err)
		}
	}
	if err := leaveProcesses(); err != nil {
		return fmt.Errorf("launching a program: limiting its processes: %w", err)
	}
	if l.Box != nil {
		runtime.LockOSThread()
		l.Box.Program = path
		var now unix.Rlimit
		if err := unix.Getrlimit(unix.RLIMIT_DATA, &now); err != nil {
			return err
		}
		// What is left to do takes memory, which the program may not have so much of.
		l.Box.Limits.Memory = int64(min(l.Data, now.Max)) //nolint:gosec // below what a machine has
		return fmt.Errorf("launching a program: %w", sandbox.New(*l.Box, sandbox.Inner(), nil).Become(args, env))
	}
	return fmt.Errorf("launching a program: %w", unix.Exec(path, args, env))
}

// lower sets a limit that the process cannot raise again. A lower one stays.
func lower(what int, limit uint64) error {
	var now unix.Rlimit
	if err := unix.Getrlimit(what, &now); err != nil {
		return err
	}
	limit = min(limit, now.Max)
	return unix.Setrlimit(what, &unix.Rlimit{Cur: limit, Max: limit})
}

// tellNamespace tells the plugin this PID namespace, which the plugin cannot see if /proc
// belongs to another one.
func tellNamespace() error {
	pipe := os.NewFile(namespacePipe, "pipe")
	link, err := os.Readlink("/proc/self/ns/pid")
	if errors.Is(err, os.ErrNotExist) {
		err = nil // without /proc nothing is counted
	}
	if err == nil {
		_, err = pipe.WriteString(link)
	}
	return errors.Join(err, pipe.Close())
}
