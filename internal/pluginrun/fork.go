package pluginrun

import (
	"context"
	"errors"
	"net"
	"net/netip"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"syscall"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/internal/egress"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// command is what a process runs, and in which surroundings.
type command struct {
	path      string
	find      bool        // path may be a name, which is looked for in the PATH of the environment
	copied    *pinnedCopy // what runs in place of the file at path; nil: that runs
	dir       string
	args      []string
	env       []string // in addition to what go-plugin sets
	namespace plugin.Namespace
	group     confine.Group // all that the process starts
	log       hclog.Logger

	stdin         *os.File // until the process has it; nil: it has none
	inheritSocket bool
	socket, grpc  *os.File // the ends of socket pairs that it inherits, until it has them; nil: none

	name     string                     // the plugin's
	profile  func() sandbox.Profile     // what the process may do; nil: there is no sandbox
	listener net.Listener               // of the proxy that a traced process is told of
	trace    *observe.Trace             // records what it uses, and nothing is refused; nil: nothing does
	wanted   tool.Needs                 // that profile follows from
	judge    func(sandbox.Report) error // refuses a start by what would be enforced; nil: there is no sandbox
	plan     *sandbox.Plan              // how it is confined; set by spawn
	create   func(purpose string, l cgroup.Limits) (*cgroup.Group, error)
	failing  func(int) int // see [Config]
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
	fork := func() (*os.Process, error) {
		plan, stage, err := c.planned(namespaces)
		if err != nil {
			return nil, err
		}
		cmd := c.build(env, stdout, stderr)
		confine.Isolate(cmd, namespaces)
		if stage {
			return c.begin(cmd, plan)
		}
		dropRights()
		return c.beginDirectly(cmd)
	}
	for until := time.Now().Add(busyGrace); ; {
		process, err := fork()
		if err != nil && sandbox.Doubt() {
			if namespaces, err = c.namespaces(); err != nil {
				return nil, err
			}
			continue
		}
		if !errors.Is(err, syscall.ETXTBSY) || time.Now().After(until) || ctx.Err() != nil {
			return process, err
		}
		deadline.Sleep(ctx, busyPace)
	}
}

// findPath makes a name a path.
func (c *command) findPath() (err error) {
	if c.find {
		c.path, err = findProgram(c.path, c.dir, c.env)
	}
	return err
}

// features returns what can confine the process on this system. What could be found once is never done
// without: as long as it cannot be found out, nothing is started.
func (c *command) features() (sandbox.Features, error) {
	f, err := sandbox.Detect()
	apart := c.profile != nil && c.trace == nil && c.namespace != plugin.NamespaceOff
	if err != nil && (apart || !f.Stage) {
		return f, notConfined(err)
	}
	return f, nil
}

// namespaces returns those that the process gets on this system. A sandbox needs them, and has
// a user namespace if that is the only way.
func (c *command) namespaces() (confine.Namespaces, error) {
	features, err := c.features()
	switch {
	case err != nil:
		return confine.NoNamespace, err
	case c.profile == nil || c.trace != nil || c.namespace == plugin.NamespaceOff || !features.Namespaces():
		return namespaces(c.namespace)
	case features.Privileged:
		return confine.PIDNamespace, nil
	}
	return confine.UserNamespace, nil
}

// planned returns how the process is confined with these namespaces, and whether by the stage.
func (c *command) planned(n confine.Namespaces) (plan *sandbox.Plan, stage bool, err error) {
	c.namespaced = n != confine.NoNamespace
	if c.profile == nil || c.trace != nil {
		dropRights() // from what this thread starts, as nothing else does
	}
	features, err := c.features()
	switch {
	case err != nil:
		return nil, false, err
	case c.trace != nil:
		plan, err = c.traced(features)
		return plan, true, err
	case c.profile == nil:
		c.plan, c.control = sandbox.Bare(c.dir), &cgroup.Group{}
		return c.plan, features.Stage, nil
	}
	profile, err := c.confined(n, &features)
	if err == nil {
		err = c.joinGroup(profile.Limits.Limits, features)
	}
	if err != nil {
		return nil, false, err
	}
	c.plan = sandbox.New(profile, features, c.control.Enforces())
	c.namespaced = n != confine.NoNamespace || c.plan.Isolated()
	return c.plan, features.Stage, c.judge(c.plan.Report)
}

// confined returns what the process may do, and leaves of the features what can enforce it with these
// namespaces.
func (c *command) confined(n confine.Namespaces, features *sandbox.Features) (sandbox.Profile, error) {
	if n == confine.NoNamespace {
		features.Privileged, features.User = false, false
	}
	profile := c.profile()
	err := c.interpret(&profile)
	if err == nil {
		profile.Limits, err = withDefaults(profile.Limits, *features)
		profile.Limits.Memory, profile.Limits.PIDs = max(profile.Limits.Memory, 0), max(profile.Limits.PIDs, 0)
	}
	return profile, err
}

// foresee returns what would be enforced if the process was started now, which it is not. Before is
// the control group of the one before; nil: there was none.
func (c *command) foresee(before *cgroup.Group) (sandbox.Report, error) {
	sandbox.Doubt() // as no start would tell
	n, err := c.namespaces()
	if err == nil {
		err = c.findPath()
	}
	if err != nil {
		return nil, err
	}
	features, err := c.features()
	if err != nil {
		return nil, err
	}
	profile, err := c.confined(n, &features)
	if err != nil {
		return nil, err
	}
	enforced, err := grouped(profile.Limits.Limits)
	if before != nil { // what it got counts, not what it could have
		enforced = before.Enforces()
	}
	return sandbox.New(profile, features, enforced).Report, err
}

// traced is planned for a process of which it is recorded what it uses.
func (c *command) traced(f sandbox.Features) (plan *sandbox.Plan, err error) {
	profile := c.profile()
	if c.plan, err = sandbox.Trace(profile, f); err != nil {
		return nil, &startFailure{reason: err.Error(), err: errors.ErrUnsupported}
	}
	if err := c.interpret(&profile); err != nil {
		c.trace.Unconfinable(err)
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
	c.trace.Begin(profile, c.env, proxy)
	return c.plan, nil
}

// groups returns where this process may make control groups.
//
// # Errors
//
// That cannot be found out for now.
var groups = confine.Found(func() (*cgroup.Tree, error) {
	tree := cgroup.Find()
	for _, limit := range cgroup.All {
		_, err := tree.By(limit)
		if errno := syscall.Errno(0); errors.As(err, &errno) && !confine.Impossible(err) {
			return tree, notConfined(err)
		}
	}
	return tree, nil
})

// Prepare does what the first start in this process would else wait for: it finds out what can confine plugins on
// this system, and makes a connection.
func Prepare() {
	_, _ = sandbox.Detect()
	_, _ = groups()
	if p, err := os.FindProcess(os.Getpid()); err == nil { // os tries in a process whether there are pidfds
		_ = p.Release()
	}
	warm()
}

// grouped returns which of the limits a control group would enforce.
func grouped(l cgroup.Limits) ([]cgroup.Limit, error) {
	wanted, bad := l.List()
	tree, err := groups()
	return slices.DeleteFunc(wanted, func(limit cgroup.Limit) bool {
		_, err := tree.By(limit)
		return err != nil
	}), errors.Join(bad, err)
}

// joinGroup makes the control group that the process joins, once, if it has limits, of those limits for
// which there can be one; the report says that the others are open.
func (c *command) joinGroup(limits cgroup.Limits, f sandbox.Features) (err error) {
	switch {
	case c.control != nil:
	case limits == cgroup.Limits{}, !f.Stage: // it is the stage that joins it
		c.control = &cgroup.Group{}
	default:
		if c.control, err = c.create(c.name, limits); err != nil {
			c.control, err = nil, notConfined(err)
		}
	}
	return err
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
