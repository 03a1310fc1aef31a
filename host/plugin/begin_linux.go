//go:build linux && (amd64 || arm64)

package plugin

import (
	"errors"
	"os"
	"os/exec"
	"strings"

	"golang.org/x/sys/unix"

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
		entry.Procs = c.control.Procs()
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
		c.reap(cmd.Process)
	}
	return nil, stageError(err)
}

// stageError says what a failed step means for the plugin.
func stageError(err error) error {
	var f *stage.Failure
	switch {
	case !errors.As(err, &f):
		return err
	case f.What == sandbox.Run:
		return f.Errno
	case f.What == sandbox.Enter:
		return &startFailure{"the workspace cannot be entered: " + f.Errno.Error(), f.Errno}
	case f.What == sandbox.Join:
		return &startFailure{errNotJoined.Error() + ": " + f.Errno.Error(), errors.Join(errNotJoined, f.Errno)}
	case strings.HasPrefix(f.What, "close"): // before Linux 5.9
		return errors.Join(stage.ErrUnavailable, f)
	}
	return &startFailure{"its sandbox cannot be made: " + f.Error(), f.Errno}
}

// isNoStage reports whether a process has to be started without the stage.
func isNoStage(err error) bool { return errors.Is(err, stage.ErrUnavailable) }

// received returns a descriptor from the stage as a file, whose reads can be ended.
func received(fd int) *os.File {
	_ = unix.SetNonblock(fd, true)
	return os.NewFile(uintptr(fd), "received")
}
