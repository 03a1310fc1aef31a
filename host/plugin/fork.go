package plugin

import (
	"context"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/sandbox"
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

	name     string                 // the plugin's
	profile  func() sandbox.Profile // what the process may do; nil: there is no sandbox
	listener net.Listener           // of the proxy that a traced process is told of
	trace    *Trace                 // records what it uses, and nothing is refused; nil: nothing does
	strict   bool                   // it is not started if something of that cannot be enforced
	plan     *sandbox.Plan          // how it is confined; set by spawn
	create   func(purpose string, l cgroup.Limits) (*cgroup.Group, error)
	control  *cgroup.Group // that it joins; nil: none was needed yet
	received []*os.File    // from the stage
	script   []string      // the interpreter, its argument and the script, if that is how it is started

	onForked   func(pid int) // called before the process runs the plugin
	reap       func(*os.Process)
	namespaced bool // whether it has a PID namespace; set by spawn
}

// spawn forks the process, and returns when it runs the plugin. From then on the goroutine
// that called owns it: it reaps it, ends its group, and closes exited.
func (c *command) spawn(ctx context.Context, env []string, stdout, stderr *os.File) (*os.Process, error) {
	namespaces, err := c.namespaces()
	if err != nil {
		return nil, err
	}
	if err := c.findPath(); err != nil {
		return nil, err
	}
	if c.copied == nil {
		program, err := openProgram(ctx, c.path)
		defer program.close()
		if err != nil {
			return nil, err
		}
	}
	var fork func(n confine.Namespaces) (*os.Process, error)
	fork = func(n confine.Namespaces) (*os.Process, error) {
		plan, err := c.planned(n)
		if err != nil {
			return nil, err
		}
		cmd := c.build(env, stdout, stderr)
		confine.Isolate(cmd, n)
		process, err := c.begin(cmd, plan)
		if errors.Is(err, errNotJoined) && !c.strict {
			c.leaveGroup(err)
			return fork(n)
		}
		if isNoStage(err) && c.noStage() == nil {
			dropRights()
			cmd = c.build(env, stdout, stderr)
			confine.Isolate(cmd, n)
			process, err = c.beginDirectly(cmd)
		}
		return process, err
	}
	for until := time.Now().Add(busyGrace); ; {
		process, err := fork(namespaces)
		if err != nil && c.namespaced && c.namespace.isOptional(err) && !c.strict {
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

// findPath makes a name a path.
func (c *command) findPath() (err error) {
	if c.find {
		c.path, err = findProgram(c.path, c.dir, c.env)
	}
	return err
}

// namespaces returns those that the process gets on this system. A sandbox needs them, and has
// a user namespace if that is the only way.
func (c *command) namespaces() (confine.Namespaces, error) {
	features := sandbox.Detect()
	switch {
	case c.profile == nil || c.trace != nil || c.namespace == NamespaceOff || !features.Namespaces():
		n, err := c.namespace.resolve()
		if err != nil {
			//nolint:errorlint // err is not about the file
			err = fmt.Errorf("a PID namespace is required and not available (see toolhost doctor): %v", err)
		}
		return n, err
	case features.Privileged:
		return confine.PIDNamespace, nil
	}
	return confine.UserNamespace, nil
}

// planned returns how the process is confined with these namespaces.
func (c *command) planned(n confine.Namespaces) (*sandbox.Plan, error) {
	c.namespaced = n != confine.NoNamespace
	if c.profile == nil || c.trace != nil {
		dropRights() // from what this thread starts, as nothing else does
	}
	switch {
	case c.trace != nil:
		return c.traced()
	case c.profile == nil:
		c.plan = sandbox.Bare(c.dir)
		return c.plan, nil
	}
	profile, features, err := c.confined(n)
	if err != nil {
		return nil, err
	}
	if err := c.joinGroup(profile.Limits); err != nil {
		return nil, err
	}
	c.plan = sandbox.New(profile, features, c.control.Enforces())
	c.namespaced = c.plan.Isolated()
	if open := c.plan.Report.Open(); c.strict && len(open) > 0 {
		return nil, strictFailure(c.name, open)
	}
	return c.plan, nil
}

// confined returns what the process may do with these namespaces, and what can enforce it.
func (c *command) confined(n confine.Namespaces) (sandbox.Profile, sandbox.Features, error) {
	features := sandbox.Detect()
	if n == confine.NoNamespace {
		features.Privileged, features.User = false, false
	}
	profile := c.profile()
	return profile, features, c.interpret(&profile)
}

// foresee returns what would be enforced if the process was started now, which it is not. Before is
// the control group of the one before; nil: there was none.
func (c *command) foresee(before *cgroup.Group) (sandbox.Report, error) {
	n, err := c.namespaces()
	if err == nil {
		err = c.findPath()
	}
	if err != nil {
		return nil, err
	}
	profile, features, err := c.confined(n)
	if err != nil {
		return nil, err
	}
	enforced := grouped(profile.Limits)
	if before != nil { // what it got counts, not what it could have
		enforced = before.Enforces()
	}
	return sandbox.New(profile, features, enforced).Report, nil
}

// traced is planned for a process of which it is recorded what it uses.
func (c *command) traced() (plan *sandbox.Plan, err error) {
	profile := c.profile()
	if c.plan, err = sandbox.Trace(profile, sandbox.Detect()); err != nil {
		return nil, &startFailure{reason: err.Error(), err: errors.ErrUnsupported}
	}
	if err := c.interpret(&profile); err != nil {
		c.trace.unconfinable(err)
	}
	var proxy netip.AddrPort
	if c.listener == nil {
		if c.listener, err = net.Listen("tcp", "127.0.0.1:0"); err != nil { //nolint:noctx // it is at once
			return nil, err
		}
	}
	if a, ok := c.listener.Addr().(*net.TCPAddr); ok {
		proxy = a.AddrPort()
	}
	c.trace.begin(profile, c.env, proxy)
	return c.plan, nil
}

// groups are where this process may make control groups.
var groups = sync.OnceValue(cgroup.Find)

// grouped returns which of the limits a control group would enforce.
func grouped(l sandbox.Limits) (out []cgroup.Limit) {
	for limit, wanted := range map[cgroup.Limit]bool{cgroup.Memory: l.Memory > 0, cgroup.CPU: l.CPU > 0, cgroup.PIDs: l.PIDs > 0} {
		if _, err := groups().By(limit); wanted && err == nil {
			out = append(out, limit)
		}
	}
	return out
}

// errNotJoined is the cause of a start that failed as the process could not join its control group.
var errNotJoined = errors.New("its control group cannot be joined")

// joinGroup makes the control group that the process joins, once, if it has limits. If there can
// be none, it starts without, unless its sandbox is strict: its report says what is open.
func (c *command) joinGroup(l sandbox.Limits) error {
	limits := cgroup.Limits{Memory: l.Memory, CPU: l.CPU, PIDs: l.PIDs}
	switch {
	case c.control != nil:
	case limits == cgroup.Limits{}:
		c.control = &cgroup.Group{}
	default:
		made, err := c.create(c.name, limits)
		switch {
		case err == nil:
			c.control = made
		case c.strict:
			return &startFailure{err.Error(), err}
		default:
			c.leaveGroup(err)
		}
	}
	return nil
}

// leaveGroup makes the process one without a control group.
func (c *command) leaveGroup(why error) {
	c.log.Warn("the plugin has no control group, so not all of its limits are enforced", "error", why)
	c.closeGroup()
	c.control = &cgroup.Group{}
}

// closeGroup ends what is left in the control group, and removes it.
func (c *command) closeGroup() {
	if c.control == nil {
		return
	}
	if err := c.control.Close(); err != nil {
		c.log.Warn("the plugin's control group is left", "error", err)
	}
}

// noStage prepares a start without the stage, and with it without a sandbox, unless that has to
// be there.
func (c *command) noStage() error {
	switch {
	case c.trace != nil:
		return errors.ErrUnsupported
	case c.profile == nil:
		return nil
	}
	features := sandbox.Features{Jobs: sandbox.Detect().Jobs}
	if !features.Jobs { // it is the stage that joins a control group
		c.closeGroup()
		c.control = &cgroup.Group{}
	}
	c.plan = sandbox.New(c.profile(), features, c.control.Enforces())
	if open := c.plan.Report.Open(); c.strict && len(open) > 0 {
		return strictFailure(c.name, open)
	}
	return nil
}

// A file that is open for writing cannot be run (ETXTBSY). Its writer may be about to close
// it, or has done so, and a process that was forked meanwhile still has a copy of the
// descriptor, until it runs its own program.
const (
	busyGrace = time.Second
	busyPace  = 10 * time.Millisecond
)

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
	if err := c.control.Start(cmd); err != nil {
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
	line := append([]string{c.path}, c.args...)
	if c.script != nil {
		line = append(slices.Clone(c.script), c.args...)
	}
	cmd := exec.Command(line[0], line[1:]...) //nolint:noctx // its life is not one call's
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
	if c.plan != nil {
		cmd.Env = append(cmd.Env, c.plan.Environment()...)
	}
	if c.trace != nil {
		cmd.Env = append(cmd.Env, egress.Environ(c.listener.Addr().String())...)
	}
	return cmd
}

// program returns the path of what is run.
func (c *command) program() string {
	if c.copied != nil && c.copied.file.Descriptor() == nil {
		return c.copied.file.Path()
	}
	return c.path
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
