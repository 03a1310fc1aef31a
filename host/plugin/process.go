package plugin

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"
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

	socketDir string // where the plugin's socket must be

	handshake *io.PipeWriter // what go-plugin reads as standard output
	forGo     *io.PipeReader

	exited chan struct{} // closed when the process is reaped and its pipes are read
	exit   *ExitError    // set before exited is closed

	mu     sync.Mutex
	pid    int   // 0 before the fork and after the reaping, when it may be another's
	killed bool  // whether it was us
	reason error // why the handshake was refused
}

func newProcess(c Candidate, cfg Config) *process {
	p := &process{
		name: c.Name, path: c.Path, dir: cfg.Root, args: cfg.Args, env: cfg.environment(),
		log: cfg.Logger.Named(c.Name), exited: make(chan struct{}),
	}
	p.forGo, p.handshake = io.Pipe()
	return p
}

// start forks the process. From then on a goroutine owns it: it reaps it, ends
// its group, and closes exited.
func (p *process) start(env []string) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return p.notStarted(err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return p.notStarted(errors.Join(err, outR.Close(), outW.Close()))
	}
	cmd := exec.Command(p.path, p.args...) //nolint:noctx // its life is not one call's
	cmd.Dir, cmd.Env = p.dir, slices.Concat(env, p.env)
	cmd.Stdout, cmd.Stderr = outW, errW // and no standard input: the host's is not for plugins
	isolate(cmd)
	err = processes.start(cmd.Start)
	_, _ = outW.Close(), errW.Close()
	if err != nil {
		_, _ = outR.Close(), errR.Close()
		return p.notStarted(err)
	}
	p.setPID(cmd.Process.Pid)
	go p.own(cmd, outR, errR)
	return nil
}

// notStarted leaves the process in the state of one that has ended.
func (p *process) notStarted(err error) error {
	p.exit = &ExitError{Code: -1}
	p.refuse(startReason(p.path, err))
	_ = p.handshake.Close()
	close(p.exited)
	return err
}

func (p *process) own(cmd *exec.Cmd, stdout, stderr *os.File) {
	defer processes.done()
	var pipes sync.WaitGroup
	pipes.Go(func() { p.readStdout(stdout) })
	pipes.Go(func() { p.readStderr(stderr) })

	p.reap(cmd)
	p.exit = exitError(cmd.ProcessState)

	end := time.Now().Add(drainTime)
	_, _ = stdout.SetReadDeadline(end), stderr.SetReadDeadline(end)
	pipes.Wait()
	_, _ = stdout.Close(), stderr.Close()
	close(p.exited)
}

// reap waits for the process to end, and ends what it left in its group, if the
// system allows before its number can be given to another.
func (p *process) reap(cmd *exec.Cmd) {
	pid := cmd.Process.Pid
	if !awaitExit(pid) {
		_ = cmd.Wait() // how it ended is in the state
	}
	killGroup(pid)
	p.setPID(0)
	if cmd.ProcessState == nil {
		_ = cmd.Wait()
	}
}

// kill ends the process and its group at once, or as soon as it is forked. It is
// safe to call at any time.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	if p.pid > 0 {
		killGroup(p.pid)
	}
}

// endedItself reports whether the process has ended, and not by kill.
func (p *process) endedItself() bool {
	select {
	case <-p.exited:
		p.mu.Lock()
		defer p.mu.Unlock()
		return p.exit.Signal != "SIGKILL" || !p.killed
	default:
		return false
	}
}

func (p *process) setPID(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = pid
	if p.killed && pid > 0 {
		killGroup(pid)
	}
}

var errClosedEarly = errors.New("it closed its standard output before the handshake")

// readStdout takes the handshake and drops the rest, which no honest plugin
// writes: pluginsdk sends what tools print to standard error.
func (p *process) readStdout(r io.Reader) {
	in := bufio.NewReaderSize(r, maxHandshake)
	line, err := in.ReadSlice('\n')
	switch {
	case errors.Is(err, bufio.ErrBufferFull):
		p.refuse(fmt.Errorf("its first line on standard output is longer than %d bytes, so it is no handshake; "+
			"nothing else may be printed there", maxHandshake))
	case err != nil && len(line) == 0:
		p.refuse(errClosedEarly)
	default:
		if err := checkHandshake(string(line)); err != nil {
			p.refuse(err)
		} else {
			_, _ = p.handshake.Write(line)
		}
	}
	_ = p.handshake.Close()
	eachLine(in, func(line string) { p.log.Debug("standard output after the handshake", "line", line) })
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
