package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"time"
)

// execute runs a program to its end and gives what it printed. The environment is
// ours and env. When ctx ends, so does the program, with what it started.
func execute(ctx context.Context, dir string, env []string, program string, args ...string) (string, error) {
	cmd := exec.CommandContext(ctx, program, args...)
	cmd.Dir, cmd.Env = dir, append(os.Environ(), env...)
	ownGroup(cmd)
	cmd.WaitDelay = time.Second // a child of its own may keep the pipes open
	var out, complaints bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &complaints
	if err := cmd.Run(); err != nil {
		return "", fmt.Errorf("%s %v: %w\n%s", filepath.Base(program), args, err, complaints.Bytes())
	}
	return out.String(), nil
}

// event is something that happens once and takes a while, and who does it.
type event struct {
	variant string
	once    func() (milliseconds float64, err error)
}

// alternate lets events happen in turn, a few times, and adds what they took.
func (b *bench) alternate(f figure, events ...event) error {
	took := make([][]float64, len(events))
	for i := range b.sizes.repeats * len(events) {
		n := (i + b.round) % len(events)
		ms, err := events[n].once()
		if err != nil {
			return fmt.Errorf("%s: %w", events[n].variant, err)
		}
		took[n] = append(took[n], ms)
	}
	for i, e := range events {
		b.add(f, e.variant, took[i]...)
	}
	return nil
}

// timed is how long f takes, in milliseconds.
func timed(f func() error) (float64, error) {
	begin := time.Now()
	err := f()
	return milliseconds(time.Since(begin)), err
}

func milliseconds(d time.Duration) float64 { return float64(d) / float64(time.Millisecond) }

func microseconds(d time.Duration) float64 { return float64(d) / float64(time.Microsecond) }

// ownGroup has a program and its children end together: a plugin of go-plugin
// outlives a host that is killed.
func ownGroup(cmd *exec.Cmd) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	cmd.Cancel = func() error { return syscall.Kill(-cmd.Process.Pid, syscall.SIGKILL) }
}

// freeze stops a process, which does not end it.
func freeze(pid int) error { return syscall.Kill(pid, syscall.SIGSTOP) }
