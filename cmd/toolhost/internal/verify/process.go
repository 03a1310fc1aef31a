package verify

import (
	"bytes"
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// startOptions are what differs between the starts of a plugin.
type startOptions struct {
	byHand   bool   // no host starts it
	versions string // of the application protocol; empty: 1
	root     string // the workspace; empty: the subject's
	inherit  string // the variable that names a descriptor, which it inherits; empty: none
	loose    bool   // without a PID namespace, in which nothing survives the plugin
	temp     string // its TMPDIR; empty: the subject's
}

// process is one run of the plugin, started as a host does: in a group and, if the system has
// them, a PID namespace of its own, with the environment that a host gives.
type process struct {
	dir     string   // of its socket
	root    string   // the workspace
	ours    net.Conn // the other end of what it inherits; nil: it inherits nothing
	group   confine.Group
	pid     int
	began   time.Time
	stdout  capture
	stderr  capture
	exited  chan struct{}    // closed when it is reaped, its output is read, and what it left is ended
	state   *os.ProcessState // set before exited is closed
	left    int              // processes that it left when it ended, if it was loose
	killing sync.Mutex       // its number is its own while this is held and it is not reaped
	reaped  bool

	line   []string      // the fields of the handshake
	before string        // what it printed before
	ready  time.Duration // from the start to the configuration
	link   *link         // nil: not connected yet
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
	p := &process{dir: dir, root: cmp.Or(o.root, s.root), exited: make(chan struct{})}
	cmd := exec.Command(s.path) //nolint:noctx // it is ended with its group
	cmd.Dir = p.root
	p.group = confine.NewRun()
	cmd.Env = slices.Concat(s.env, []string{"TMPDIR=" + cmp.Or(o.temp, s.temp)})
	if p.group.Mark != "" {
		cmd.Env = append(cmd.Env, p.group.Mark)
	}
	if !o.byHand {
		versions := cmp.Or(o.versions, strconv.Itoa(wire.ProtocolVersion))
		cmd.Env = append(cmd.Env, wire.CookieKey+"="+wire.CookieValue, "PLUGIN_PROTOCOL_VERSIONS="+versions, "PLUGIN_UNIX_SOCKET_DIR="+dir)
	}
	if o.inherit != "" {
		ours, theirs, err := socketPair()
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
	s.running = append(s.running, p)
	return p, nil
}

// fork starts the command. A Linux parent-death signal is sent when the thread that forked ends,
// so that one belongs to the process as long as it lives.
func (p *process) fork(cmd *exec.Cmd) error {
	stdout, err := cmd.StdoutPipe()
	if err != nil {
		return err
	}
	stderr, err := cmd.StderrPipe()
	if err != nil {
		return err
	}
	started := make(chan error, 1)
	p.began = time.Now()
	go func() {
		runtime.LockOSThread()
		p.group.Begin()
		if err := cmd.Start(); err != nil {
			p.group.Forget()
			close(p.exited)
			started <- err
			return
		}
		p.pid = cmd.Process.Pid
		_ = p.group.Forked(p.pid) // else what it leaves is found by its environment alone
		started <- nil
		p.own(cmd, stdout, stderr)
	}()
	return <-started
}

// drain is how long the pipes of a process that has ended are read on: only what it left can hold
// them open.
const drain = 200 * time.Millisecond

// own waits for the process to end, and ends what it leaves.
func (p *process) own(cmd *exec.Cmd, stdout, stderr io.ReadCloser) {
	var pipes sync.WaitGroup
	pipes.Go(func() { p.stdout.read(stdout) })
	pipes.Go(func() { p.stderr.read(stderr) })
	confine.AwaitExit(p.pid)
	p.left, _ = p.group.Usage()
	p.killing.Lock()
	confine.KillGroup(p.pid)
	p.state, _ = cmd.Process.Wait()
	p.reaped = true
	p.killing.Unlock()
	p.group.End()
	shut := func() { _, _ = stdout.Close(), stderr.Close() }
	held := time.AfterFunc(drain, shut)
	pipes.Wait()
	held.Stop()
	shut()
	close(p.exited)
}

// kill ends the process and its group at once.
func (p *process) kill() {
	p.killing.Lock()
	defer p.killing.Unlock()
	if !p.reaped {
		confine.Kill(p.pid)
	}
}

// end ends the process, and waits until nothing of it is left.
func (p *process) end() {
	if p.link != nil {
		p.link.close()
	}
	if p.ours != nil {
		_ = p.ours.Close()
	}
	p.kill()
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
	if last := p.stderr.last(); last != "" {
		how += ", and its last words were " + sanitize.Quote(last, 200)
	}
	return how
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

// The limits of what is kept of the output of a process, in bytes.
const (
	maxFirst = 64 << 10 // from the beginning
	maxLast  = 4 << 10  // of the end
	maxRead  = 64 << 20 // then it is read no longer, and the plugin waits
)

// capture reads what a process writes, keeps the beginning and the end, and counts.
type capture struct {
	mu       sync.Mutex
	first    []byte
	end      []byte
	bytes    int64
	longest  int // line, in bytes
	current  int
	grown    chan struct{} // replaced and closed with each read
	finished bool
}

func (c *capture) read(r io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		c.mu.Lock()
		c.take(buf[:n])
		c.finished = c.finished || err != nil || c.bytes > maxRead
		if c.grown != nil {
			close(c.grown)
			c.grown = nil
		}
		done := c.finished
		c.mu.Unlock()
		if done {
			return
		}
	}
}

func (c *capture) take(b []byte) {
	c.bytes += int64(len(b))
	c.first = append(c.first, b[:min(len(b), maxFirst-len(c.first))]...)
	c.end = append(c.end, b...)
	if extra := len(c.end) - maxLast; extra > 0 {
		c.end = append(c.end[:0], c.end[extra:]...)
	}
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			c.current += len(rest)
			c.longest = max(c.longest, c.current)
			return
		}
		c.longest = max(c.longest, c.current+i)
		c.current, rest = 0, rest[i+1:]
	}
}

// look returns the beginning, and a channel that is closed when there is more; nil: there will not
// be more.
func (c *capture) look() (first []byte, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished || len(c.first) == maxFirst {
		return c.first, nil
	}
	if c.grown == nil {
		c.grown = make(chan struct{})
	}
	return c.first, c.grown
}

// tail returns the end.
func (c *capture) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.end)
}

// last returns the last line that is not empty.
func (c *capture) last() string {
	lines := strings.Split(strings.TrimSpace(c.tail()), "\n")
	return lines[len(lines)-1]
}

// maxLine bounds a handshake line, in bytes.
const maxLine = 4 << 10

// greet waits for the handshake line: the first line that begins as one does, so that what was
// printed before it is known.
func (p *process) greet(ctx context.Context) error {
	for {
		first, more := p.stdout.look()
		at := 0
		for line := range bytes.Lines(first) {
			whole := bytes.HasSuffix(line, []byte("\n"))
			if fields := strings.Split(strings.TrimRight(string(line), "\r\n"), "|"); whole && isGreeting(fields) {
				if len(line) > maxLine {
					return fmt.Errorf("the handshake line has %d bytes, more than %d", len(line), maxLine)
				}
				p.line, p.before = fields, string(first[:at])
				return nil
			}
			at += len(line)
		}
		if more == nil {
			if p.waitEnd(endGrace) {
				return fmt.Errorf("it printed %s and no handshake line: %s", printed(first), p.ending())
			}
			return fmt.Errorf("it printed %s and no handshake line, and goes on", printed(first))
		}
		if err := p.await(ctx, more); err != nil {
			first, _ = p.stdout.look()
			return fmt.Errorf("it printed %s and no handshake line: %w", printed(first), err)
		}
	}
}

func printed(b []byte) string {
	if len(b) == 0 {
		return "nothing"
	}
	return sanitize.Quote(string(b[:min(len(b), 200)]), 100)
}

// isGreeting reports whether a line is meant as a handshake: it begins with two numbers, or at
// least has its four bars.
func isGreeting(fields []string) bool {
	number := func(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }
	return len(fields) > 2 && number(fields[0]) && number(fields[1]) || len(fields) >= 5
}

// field returns a field of the handshake line; empty: it has not so many.
func (p *process) field(i int) string {
	if i < len(p.line) {
		return p.line[i]
	}
	return ""
}

// later returns what was printed to standard output after the handshake line.
func (p *process) later() (bytes int64, beginning string) {
	p.stdout.mu.Lock()
	defer p.stdout.mu.Unlock()
	own := len(p.before) + len(strings.Join(p.line, "|")) + 1
	if p.line == nil || p.stdout.bytes <= int64(own) {
		return 0, ""
	}
	return p.stdout.bytes - int64(own), string(p.stdout.first[min(own, len(p.stdout.first)):])
}

// socketPath returns the path of the socket that the plugin announces, which lies in its directory.
func (p *process) socketPath() (string, error) {
	address := p.field(3)
	if filepath.Dir(filepath.Clean(address)) != p.dir {
		return "", fmt.Errorf("it announces the socket %s, which does not lie in the directory that PLUGIN_UNIX_SOCKET_DIR names",
			sanitize.Quote(address, 120))
	}
	info, err := os.Lstat(address)
	if err != nil {
		return "", fmt.Errorf("it announces the socket %s, which cannot be found: %w", sanitize.Quote(address, 120), errors.Unwrap(err))
	}
	if info.Mode().Type() != os.ModeSocket {
		return "", fmt.Errorf("it announces %s, which is not a socket but %s", sanitize.Quote(address, 120), info.Mode())
	}
	return address, nil
}
