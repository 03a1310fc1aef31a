package plugin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// drainTime is how long the pipes of a process that has ended are read on: what
// it wrote is there already, and only a descendant that left its group can
// still hold them open.
const drainTime = 200 * time.Millisecond

// process is one run of a plugin's binary, from fork to reaping. Its pipes are
// our own: go-plugin is shown a checked handshake line and nothing else.
type process struct {
	name   string // the plugin's
	path   string
	dir    string
	args   []string
	env    []string // in addition to what go-plugin sets
	log    hclog.Logger
	stderr tail

	output  *intake // what it may write
	records *valve  // on its stream

	namespace  Namespace
	namespaced bool          // whether it has a PID namespace; set before the fork is over
	group      confine.Group // all that it starts

	socketDir string // where the plugin's socket must be
	grpc      connection

	lane bool     // whether it is to inherit a socket
	host net.Conn // the host's end of it; nil: there is none

	handshake *io.PipeWriter // what go-plugin reads as standard output
	forGo     *io.PipeReader

	exited chan struct{} // closed when the process is reaped and its pipes are read
	exit   *ExitError    // set before exited is closed
	gone   chan struct{} // closed after exited, when its descendants have ended too
	alone  chan struct{} // closed when go-plugin's client has nothing more to do with it

	copied *pin // what runs in place of the file at path; nil: that runs

	mu     sync.Mutex
	pid    int         // 0 before the fork and after the reaping, when it may be another's
	killed bool        // whether it was us
	stuck  *time.Timer // runs since it was killed
	then   func()      // runs after the end; nil: nothing does
	reason error       // why the handshake was refused, or the process ended by us
}

func newProcess(c Candidate, cfg Config) *process {
	p := &process{
		name: c.Name, path: c.Path, dir: cfg.Root, args: cfg.Args, env: cfg.environment(),
		log: cfg.Logger.Named(c.Name), exited: make(chan struct{}), gone: make(chan struct{}), alone: make(chan struct{}), lane: cfg.Carrier == Socket,
		namespace: cfg.Namespace, group: confine.Group{Mark: confine.NewMark()},
	}
	p.stderr.begun = make(chan struct{})
	p.output = newIntake(p.log)
	p.records = p.output.valve()
	p.grpc.pace = p.output.valve().pass
	p.forGo, p.handshake = io.Pipe()
	return p
}

// notStarted leaves the process in the state of one that has ended.
func (p *process) notStarted(err error) error {
	p.refuse(startReason(p.path, err))
	_ = p.handshake.Close()
	p.finish(&ExitError{Code: -1})
	p.copied.close()
	close(p.gone)
	return err
}

// own waits for the process to end, and sees to what it leaves.
func (p *process) own(process *os.Process, stdout, stderr *os.File) {
	var pipes sync.WaitGroup
	pipes.Go(func() { p.readStdout(stdout) })
	pipes.Go(func() { p.readStderr(stderr) })

	exit := exitError(p.reap(process))

	p.output.end()
	end := time.Now().Add(drainTime)
	_, _ = stdout.SetReadDeadline(end), stderr.SetReadDeadline(end)
	// Reading may still wait for who takes the log.
	held := time.AfterFunc(drainTime+logGrace, func() { p.finish(exit) })
	pipes.Wait()
	held.Stop()
	_, _ = stdout.Close(), stderr.Close()
	p.finish(exit)

	if !p.namespaced { // else the kernel has ended them
		p.group.End()
	}
	p.copied.close()
	p.mu.Lock()
	close(p.gone)
	then := p.then
	p.mu.Unlock()
	if then != nil {
		then()
	}
}

// afterwards lets f run when the process has ended, by the goroutine that owned it.
func (p *process) afterwards(f func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	select {
	case <-p.gone:
		go f()
	default:
		p.then = f
	}
}

// What a process, or reading its output, may take to end when it must.
const (
	killGrace = 5 * time.Second // after SIGKILL
	logGrace  = time.Second
)

// finish tells all who wait for the process that it has ended, once.
func (p *process) finish(exit *ExitError) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.stuck != nil {
		p.stuck.Stop()
	}
	if p.exit == nil {
		p.exit = exit
		close(p.exited)
	}
}

// reap waits for the process to end, and ends what it left in its group, if the
// system allows before its number can be given to another.
func (p *process) reap(process *os.Process) *os.ProcessState {
	pid := process.Pid
	if confine.AwaitExit(pid) {
		confine.KillGroup(pid)
		p.setPID(0)
		state, _ := process.Wait() // how it ended is in the state
		return state
	}
	state, _ := process.Wait()
	confine.KillGroup(pid)
	p.setPID(0)
	return state
}

// kill ends the process and its group at once, or as soon as it is forked. It is
// safe to call at any time. Nobody waits longer for the end than killGrace: a
// system call that does not return can hold a process for ever.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	p.killNow()
}

// killNow is called with the lock held.
func (p *process) killNow() {
	if p.pid == 0 {
		return
	}
	confine.Kill(p.pid)
	if p.stuck == nil {
		p.stuck = time.AfterFunc(killGrace, func() { p.finish(&ExitError{Code: -1, Stuck: true}) })
	}
}

// endedItself reports whether the process has ended, and not by kill.
func (p *process) endedItself() bool {
	select {
	case <-p.exited:
		p.mu.Lock()
		defer p.mu.Unlock()
		return !p.exit.Stuck && (p.exit.Signal != "SIGKILL" || !p.killed)
	default:
		return false
	}
}

func (p *process) setPID(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = pid
	if p.killed {
		p.killNow()
	}
}

var errClosedEarly = errors.New("it closed its standard output before the handshake")

// readStdout takes the handshake and drops the rest, which no honest plugin
// writes: pluginsdk sends what tools print to standard error.
func (p *process) readStdout(r io.Reader) {
	in := bufio.NewReaderSize(slowReader{r, p.output.valve()}, maxHandshake)
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		p.refuse(fmt.Errorf("its first line on standard output is longer than %d bytes, so it is no handshake; "+
			"nothing else may be printed there", maxHandshake))
	case err != nil && len(line) == 0:
		p.refuse(errClosedEarly)
	default:
		if checked, err := checkHandshake(string(line)); err != nil {
			p.refuse(err)
		} else {
			_, _ = io.WriteString(p.handshake, checked)
		}
	}
	_ = p.handshake.Close()
	eachLine(bufio.NewReaderSize(in, maxLogLine), func(line []byte) {
		if p.output.admit() {
			p.log.Debug("standard output after the handshake", "line", sanitize.Line(string(line), 0))
		}
	})
}

// refuse notes why the plugin cannot be used. The first reason stays.
func (p *process) refuse(reason error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.reason == nil {
		p.reason = reason
	}
}

func (p *process) refusal() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.reason
}

// id is the process number, or the plugin's name where there is no process. It
// is never empty: go-plugin cleans up only after what has an ID.
func (p *process) id() string {
	if pid := p.number(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return p.name
}

// number is the process number; 0: there is no process.
func (p *process) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}
