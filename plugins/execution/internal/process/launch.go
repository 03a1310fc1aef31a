package process

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"runtime"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/sandbox"
)

// Programs are started by this executable. Go cannot set limits between fork and exec, so
// a process that needs some starts as the plugin itself, sets its limits, and becomes the
// program.
const (
	launchWord   = "toolhost-execution-launch"
	launchFailed = 125

	namespacePipe = 3 // the descriptor of the pipe on which the process tells its PID namespace
)

// Limits are those that a process sets for itself; 0 means no limit. As JSON they are the
// second argument of the process; the program and its arguments follow.
type Limits struct {
	CPU  uint64 `json:"cpu"`  // seconds of processor time
	Data uint64 `json:"data"` // bytes of memory
	File uint64 `json:"file"` // bytes of a file that it writes
	// Box is what the program may do, besides what the plugin may; nil: all of that.
	Box *sandbox.Profile `json:"box,omitempty"`
}

// BecomeProgram turns a process that was started to run a program into that program. In
// all others it does nothing.
func BecomeProgram() {
	if len(os.Args) > 1 && os.Args[1] == launchWord {
		fmt.Fprintln(os.Stderr, launch())
		os.Exit(launchFailed)
	}
}

// launch becomes the program. It returns only if that failed.
func launch() error {
	if len(os.Args) < 4 {
		return errors.New("nothing to launch")
	}
	var limits Limits
	if err := json.Unmarshal([]byte(os.Args[2]), &limits); err != nil {
		return fmt.Errorf("launching a program: %w", err)
	}
	return limits.become(os.Args[3], os.Args[3:], os.Environ())
}

// arguments returns the arguments that make this executable launch a program.
func (l Limits) arguments(path string, args []string) ([]string, error) {
	limits, err := json.Marshal(l)
	if err != nil {
		return nil, err
	}
	return append([]string{launchWord, string(limits), path}, args...), nil
}

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
