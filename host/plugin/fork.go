package plugin

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// command is what a process runs, and in which surroundings.
type command struct {
	path      string
	find      bool        // path may be a name, which is looked for in the PATH of the environment
	copied    *pinnedCopy // what runs in place of the file at path; nil: that runs
	dir       string
	args      []string
	env       []string // in addition to what go-plugin sets
	namespace Namespace
	group     confine.Group // all that the process starts
	log       hclog.Logger

	stdin         *os.File // until the process has it; nil: it has none
	inheritSocket bool
	socket, grpc  *os.File // the ends of socket pairs that it inherits, until it has them; nil: none

	onForked   func(pid int) // called before the process runs the plugin
	reap       func(*os.Process)
	namespaced bool // whether it has a PID namespace; set by spawn
}

// spawn forks the process, and returns when it runs the plugin. From then on the goroutine
// that called owns it: it reaps it, ends its group, and closes exited.
func (c *command) spawn(ctx context.Context, env []string, stdout, stderr *os.File) (*os.Process, error) {
	namespaces, err := c.namespace.resolve()
	if err != nil {
		//nolint:errorlint // err is not about the file
		return nil, fmt.Errorf("a PID namespace is required and not available (see toolhost doctor): %v", err)
	}
	if c.find {
		if c.path, err = findProgram(c.path, c.dir, c.env); err != nil {
			return nil, err
		}
	}
	if c.copied == nil {
		program, err := openProgram(ctx, c.path)
		defer program.close()
		if err != nil {
			return nil, err
		}
	}
	fork := func(n confine.Namespaces) (*os.Process, error) {
		c.namespaced = n != confine.NoNamespace
		cmd := c.build(env, stdout, stderr)
		confine.Isolate(cmd, n)
		process, err := c.begin(cmd)
		if errors.Is(err, errNoStage) {
			cmd = c.build(env, stdout, stderr)
			confine.Isolate(cmd, n)
			process, err = c.beginDirectly(cmd)
		}
		return process, err
	}
	for until := time.Now().Add(busyGrace); ; {
		process, err := fork(namespaces)
		if err != nil && c.namespaced && c.namespace.isOptional(err) {
			process, err = fork(confine.NoNamespace)
		}
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(until) || ctx.Err() != nil {
			return process, err
		}
		select {
		case <-time.After(busyPace):
		case <-ctx.Done():
		}
	}
}

// A file that is open for writing cannot be run (ETXTBSY). Its writer may be about to close
// it, or has done so, and a process that was forked meanwhile still has a copy of the
// descriptor, until it runs its own program.
const (
	busyGrace = time.Second
	busyPace  = 10 * time.Millisecond
)

// begin starts the command, which becomes the plugin, or its copy, in a process that can be
// killed before it has.
func (c *command) begin(cmd *exec.Cmd) (*os.Process, error) {
	stage, done, err := throughStage(cmd, c.copied)
	if err != nil {
		return nil, err
	}
	err = cmd.Start()
	done()
	if err != nil {
		return nil, fmt.Errorf("%w: %w", errNoStage, errors.Join(err, stage.close()))
	}
	c.onForked(cmd.Process.Pid)
	if err := stage.passed(); err != nil {
		c.reap(cmd.Process)
		return nil, err
	}
	return cmd.Process, nil
}

// beginDirectly starts the command without the stage. Then whatever holds up execve holds
// up the host too, so the root is looked at first.
func (c *command) beginDirectly(cmd *exec.Cmd) (*os.Process, error) {
	if _, err := os.Stat(cmd.Dir); err != nil {
		return nil, &startFailure{"the workspace cannot be entered: " + err.Error(), err}
	}
	closeOthers(cmd)
	done, err := runCopy(cmd, c.copied)
	if err != nil {
		return nil, err
	}
	defer done()
	if err := cmd.Start(); err != nil {
		return nil, err
	}
	c.onForked(cmd.Process.Pid)
	if err := limitProcesses(cmd.Process.Pid); err != nil {
		c.log.Warn("the plugin's processes are not limited", "error", err)
	}
	return cmd.Process, nil
}

// build makes the command.
func (c *command) build(env []string, stdout, stderr *os.File) *exec.Cmd {
	cmd := exec.Command(c.path, c.args...) //nolint:noctx // its life is not one call's
	cmd.Dir, cmd.Env = c.dir, slices.Concat(env, c.env)
	cmd.Stdout, cmd.Stderr = stdout, stderr
	if c.stdin != nil { // else there is none: the host's is not for plugins
		cmd.Stdin = c.stdin
	}
	inherit := func(f *os.File, variable string) {
		if f != nil {
			cmd.ExtraFiles = append(cmd.ExtraFiles, f) // the first is descriptor 3
			cmd.Env = append(cmd.Env, variable+"="+strconv.Itoa(2+len(cmd.ExtraFiles)))
		}
	}
	inherit(c.socket, wire.SocketVariable)
	inherit(c.grpc, wire.GRPCVariable)
	if c.group.Mark != "" {
		cmd.Env = append(cmd.Env, c.group.Mark)
	}
	return cmd
}

// closeInherited closes the ends that the process has by now, if it was started.
func (c *command) closeInherited() {
	for _, f := range []*os.File{c.stdin, c.socket, c.grpc} {
		if f != nil {
			_ = f.Close()
		}
	}
	c.stdin, c.socket, c.grpc = nil, nil, nil
}
