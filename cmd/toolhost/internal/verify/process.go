package verify

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"google.golang.org/grpc"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/socketpair"
	"github.com/toolhost/toolhost/internal/wire"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// startOptions are what differs between the starts of a plugin.
type startOptions struct {
	byHand  bool   // no host starts it
	root    string // the workspace; empty: the subject's
	inherit string // the variable that names a descriptor, which it inherits; empty: none
	set     string // one more variable, NAME=VALUE
	loose   bool   // without a PID namespace, in which nothing survives the plugin, and with a TMPDIR of its own
}

// process is one run of the plugin, started as a host does: in a group and, if the system has
// them, a PID namespace of its own, with the environment that a host gives.
type process struct {
	dir   string   // of its socket
	root  string   // the workspace
	ours  net.Conn // the other end of what it inherits; nil: it inherits nothing
	group confine.Group
	*os.Process
	began  time.Time
	stdout capture
	stderr capture
	exited chan struct{}    // closed when it is reaped, its output is read, and what it left is ended
	state  *os.ProcessState // set before exited is closed
	left   int              // processes that it left when it ended, if it was loose

	line   []string                   // the fields of the handshake
	before string                     // what it printed before
	about  *pluginv1.DescribeResponse // before it was configured

	conn   *grpc.ClientConn // nil: not connected yet
	client pluginv1.ToolPluginClient
	limit  time.Duration // of a call
}

// namespace returns what ends all that a plugin starts.
func namespace(loose bool) confine.Namespaces {
	for _, n := range []confine.Namespaces{confine.PIDNamespace, confine.UserNamespace} {
		if !loose && n.Check() == nil {
			return n
		}
	}
	return confine.NoNamespace
}

// start starts the plugin.
func (s *subject) start(o startOptions) (*process, error) {
	dir, err := os.MkdirTemp(s.sockets, "")
	if err != nil {
		return nil, err
	}
	p := &process{dir: dir, root: cmp.Or(o.root, s.root), limit: s.Timeout, group: confine.NewRun(), exited: make(chan struct{})}
	cmd := exec.Command(s.path) //nolint:noctx // it is ended with its group
	cmd.Dir = p.root
	temp := s.temp
	if o.loose {
		temp += endTemp
	}
	cmd.Env = slices.Concat(s.env, []string{"TMPDIR=" + temp, p.group.Mark, o.set})
	if o.byHand {
		in, err := cmd.StdinPipe()
		if err != nil {
			return nil, err
		}
		defer func() { _, _ = io.WriteString(in, mcpHello) }() // and its input goes on
	} else {
		cmd.Env = append([]string{wire.CookieKey + "=" + wire.CookieValue, oneVersion, "PLUGIN_UNIX_SOCKET_DIR=" + dir}, cmd.Env...)
	}
	if o.inherit != "" {
		ours, theirs, err := socketpair.New()
		if err != nil {
			return nil, err
		}
		p.ours = ours
		cmd.ExtraFiles = []*os.File{theirs}
		cmd.Env = append(cmd.Env, o.inherit+"=3")
		defer func() { _ = theirs.Close() }()
	}
	confine.Isolate(cmd, namespace(o.loose))
	if err := p.fork(cmd); err != nil {
		return nil, fmt.Errorf("the system does not start it: %w", err)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.running = append(s.running, p)
	return p, nil
}

// The variable that says which versions of the protocol a host has.
const (
	oneVersion  = "PLUGIN_PROTOCOL_VERSIONS=1"
	twoVersions = oneVersion + ",2"
)

// mcpHello is how an MCP client begins.
const mcpHello = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},` +
	`"clientInfo":{"name":"toolhost","version":"0"}}}` + "\n"

// fork starts the command. A Linux parent-death signal is sent when the thread that forked ends,
// so that one belongs to the process as long as it lives.
func (p *process) fork(cmd *exec.Cmd) error {
	cmd.Stdout, cmd.Stderr, cmd.WaitDelay = &p.stdout, &p.stderr, drain
	started := make(chan error, 1)
	p.began = time.Now()
	go func() {
		runtime.LockOSThread()
		p.group.Begin()
		if err := cmd.Start(); err != nil {
			p.group.Forget()
			started <- err
			return
		}
		p.Process = cmd.Process
		_ = p.group.Forked(p.Pid) // else what it leaves is found by its environment alone
		started <- nil
		confine.AwaitExit(p.Pid)
		p.left, _ = p.group.Usage()
		confine.KillGroup(p.Pid)
		_ = cmd.Wait() // how it ended is in the state
		p.state = cmd.ProcessState
		p.group.End()
		close(p.exited)
	}()
	return <-started
}

// drain is how long the pipes of a process that has ended are read on: only what it left can hold
// them open.
const drain = 200 * time.Millisecond

// end ends the process, and waits until nothing of it is left.
func (p *process) end() {
	if p.conn != nil {
		_ = p.conn.Close()
	}
	if p.ours != nil {
		_ = p.ours.Close()
	}
	_ = p.Kill() // and so its group, unless it has ended
	select {
	case <-p.exited:
	case <-time.After(killTime): // it is in a system call that does not return
	}
	_ = os.RemoveAll(p.dir)
}

// killTime bounds the end of a process that was killed.
const killTime = 5 * time.Second

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool {
	select {
	case <-p.exited:
		return true
	default:
		return false
	}
}

// ending says how the process has ended.
func (p *process) ending() string {
	how := "it has ended"
	if p.state != nil {
		how = "it ended with " + p.state.String()
		if signal := confine.SignalName(p.state); signal != "" {
			how = "it was killed by " + signal
		}
	}
	if last := p.stderr.words(); last != "" {
		how += ", and its last words were " + sanitize.Quote(last, 200)
	}
	return how
}

// orEnd ends the process if there is an error, and returns that.
func (p *process) orEnd(err error) error {
	if err != nil {
		p.end()
	}
	return err
}

// ends reports whether the process ends within a time.
func (p *process) ends(ctx context.Context, within time.Duration) bool {
	ctx, cancel := context.WithTimeout(ctx, within)
	defer cancel()
	_ = p.await(ctx, nil) // until then
	return p.hasEnded()
}

// await waits until c is closed, ctx ends or the process does.
func (p *process) await(ctx context.Context, c <-chan struct{}) error {
	select {
	case <-c:
		return nil
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-p.exited:
		select {
		case <-c:
			return nil
		default:
			return errors.New(p.ending())
		}
	}
}
