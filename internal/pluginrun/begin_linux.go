//go:build linux && (amd64 || arm64)

package pluginrun

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/stage"
)

// begin starts the command, which becomes the plugin, or its copy, in a process that confines
// itself and can be killed before it has become the plugin.
func (c *command) begin(cmd *exec.Cmd, plan *sandbox.Plan) (*os.Process, error) {
	if cmd.Stdin == nil {
		stdin, err := os.Open(os.DevNull)
		if err != nil {
			return nil, err
		}
		defer func() { _ = stdin.Close() }()
		cmd.Stdin = stdin
	}
	entry := sandbox.Entry{Path: cmd.Path, Limit: processLimit(), Brand: uint64(c.group.Brand)}
	if c.control != nil {
		groups, done, err := c.control.Enter(cmd.SysProcAttr)
		if err != nil {
			return nil, notConfined(fmt.Errorf("its control group cannot be joined: %w", err))
		}
		defer done()
		entry.Groups = groups
	}
	if c.copied != nil && c.script == nil {
		entry.Path = c.copied.file.Path()
		if memory := c.copied.file.Descriptor(); memory != nil { // the stage inherits it, and does not hand it on
			cmd.ExtraFiles = append(cmd.ExtraFiles, memory)
			entry.Descriptor = 2 + len(cmd.ExtraFiles)
		}
	}
	plan.Attributes(cmd.SysProcAttr)
	var invalid error
	list := func(report, free int) *stage.Program {
		p := stage.NewProgram(free)
		invalid = plan.Steps(p, report, entry)
		if c.failing != nil {
			p.Fail(c.failing(p.Len()))
		}
		return p
	}
	var forked bool
	err := stage.Start(cmd, list, func(pid int) {
		forked = true
		c.onForked(pid)
	}, func(fd int) { c.received = append(c.received, received(fd)) })
	err = errors.Join(invalid, err)
	if err == nil {
		return cmd.Process, nil
	}
	for _, f := range c.received {
		_ = f.Close()
	}
	c.received = nil
	if forked {
		confine.Kill(cmd.Process.Pid) // whatever it is by now
		c.reap(cmd.Process)
	}
	return nil, stageError(err)
}

// stageError says what a failed step means for the plugin.
func stageError(err error) error {
	var f *stage.Failure
	switch {
	case !errors.As(err, &f):
		return notConfined(err)
	case f.What == sandbox.Run:
		return f.Errno
	case f.What == sandbox.Enter:
		return &startFailure{"the workspace cannot be entered: " + f.Errno.Error(), f.Errno}
	case f.What == sandbox.Join:
		return notConfined(fmt.Errorf("its control group cannot be joined: %w", f.Errno))
	}
	return notConfined(f)
}

// received returns a descriptor from the stage as a file, whose reads can be ended.
func received(fd int) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "received")
}
