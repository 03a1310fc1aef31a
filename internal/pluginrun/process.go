package pluginrun

import (
	"context"
	"errors"
	"net"
	"os"
	"runtime"
	"slices"
	"strconv"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/observe"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// drainTime is how long the pipes of a process that has ended are read on: what it wrote
// is there already, and only a descendant that left its group can still hold them open.
const drainTime = time.Second

// process is one run of a program, from fork to reaping, or of a server without one, from the
// start to the end of the connection. Its pipes are the host's own: go-plugin is shown a
// checked handshake line and nothing else.
type process struct {
	name   string // the plugin's
	log    hclog.Logger
	cmd    command
	output *output
	grpc   connection
	socket net.Conn // the host's end of the socket for calls; nil: there is none
	stdio  *stdio   // of a server's program; nil: it is a plugin, or there is no program
	box    *box     // what the host does for its sandbox; set when the process runs
	denied func(what string)

	usage    *Usage         // counts what it uses; nil: there is no program
	survived func(*process) // is called when something of the run lives on; nil: nothing is

	exited   chan struct{}     // closed when the process is reaped and its pipes are read
	gone     chan struct{}     // closed after exited, when its descendants have ended too
	detached chan struct{}     // closed when go-plugin's client has nothing more to do with it
	forked   atomic.Int64      // the number that it had, also when it is reaped: its last lines are read later
	exit     *plugin.ExitError // how it ended; set before exited is closed
	exitTime time.Time         // and when

	mu     sync.Mutex
	pid    int         // 0 before the fork and after the reaping, when it may be another's
	killed bool        // by the host
	stuck  *time.Timer // runs since it was killed
	reason error       // why the handshake was refused, or the host ended the process
	onExit func()      // see onEnd
	onGone func()
	lost   chan string // takes how the connection ended, once; nil: there is a program
}

func newProcess(c plugin.Candidate, cfg Config) *process {
	if cfg.Trace != nil { // it gets its cache, and what it uses besides what every process has is recorded
		none := []string{}
		cfg.Sandbox = plugin.Sandbox{Level: plugin.BestEffort, Read: none, Write: []string{tool.Cache}, Net: none, Exec: none, Env: cfg.Sandbox.Env}
		cfg.Env = slices.Concat(observe.GoEnvironment(tool.Needs{Exec: []string{"go"}, Net: []string{tool.Any}}, cfg.cache()), cfg.Env)
	}
	p := &process{
		name: c.Name, log: cfg.Logger.Named(c.Name), denied: func(string) {},
		usage: cfg.Usage, survived: cfg.survived, exited: make(chan struct{}), gone: make(chan struct{}), detached: make(chan struct{}),
	}
	p.output = newOutput(p.log, p.refuse)
	p.output.journal, p.output.pid = cfg.Journal, func() int { return int(p.forked.Load()) }
	p.grpc.pace = p.output.limit.throttle().pass
	p.grpc.refuse = p.refuse
	p.cmd = command{
		path: c.Binary(), dir: cfg.Root, args: cfg.Args, env: cfg.environment(cfg.cacheVariables()...),
		namespace: cfg.Namespace, group: confine.NewRun(), inheritSocket: cfg.Carrier == plugin.Socket,
		log: p.log, onForked: p.setPID, reap: func(process *os.Process) { p.reap(process) },
		name: c.Name, trace: cfg.Trace, create: cfg.createGroup, failing: cfg.failing,
	}
	if cfg.denials != nil {
		p.denied = cfg.denials.add
	}
	if cfg.Sandbox.Level != plugin.NoSandbox {
		p.cmd.profile = func() sandbox.Profile { return cfg.profile(p.cmd.path, p.cmd.program(), p.grpc.path) }
		p.cmd.wanted = cfg.given()
		p.cmd.judge = func(r sandbox.Report) error { return cfg.judge(c.Name, r) }
	}
	return p
}

// start forks the process, and gives up if the system has not done so when ctx ends: it may
// have to read the file from another machine.
func (p *process) start(ctx context.Context, env []string) error {
	outR, outW, err := os.Pipe()
	if err != nil {
		return p.notStarted(err)
	}
	errR, errW, err := os.Pipe()
	if err != nil {
		return p.notStarted(errors.Join(err, outR.Close(), outW.Close()))
	}
	if p.stdio == nil {
		err = p.offerSockets()
	} else {
		p.cmd.stdin, err = p.openStdio(outR)
	}
	if err != nil {
		p.cmd.closeInherited()
		return p.notStarted(errors.Join(err, outR.Close(), outW.Close(), errR.Close(), errW.Close()))
	}
	started := make(chan error, 1)
	go func() {
		// A Linux parent-death signal is sent when the thread that forked ends, not the
		// process (prctl(2), PR_SET_PDEATHSIG), and the Go runtime ends threads as it likes:
		// so this one is the process's as long as it lives, and ends with the goroutine. What
		// is done to it concerns what it starts and nothing else of the host, see dropRights.
		runtime.LockOSThread()
		p.cmd.group.Begin()
		process, err := p.cmd.spawn(ctx, env, outW, errW)
		_, _ = outW.Close(), errW.Close()
		p.cmd.closeInherited()
		if err != nil {
			_, _ = outR.Close(), errR.Close()
			if p.stdio != nil {
				_ = p.stdio.Close()
			}
			if p.cmd.listener != nil {
				_ = p.cmd.listener.Close()
			}
			started <- p.notStarted(err)
			return
		}
		if p.box, err = openBox(&p.cmd, p.denied); err != nil {
			p.refuse(err)
			p.kill()
		}
		p.usage.begun(p)
		started <- nil
		p.own(process, outR, errR)
	}()
	select {
	case err := <-started:
		return err
	case <-ctx.Done():
		p.kill() // as soon as it is forked
		p.refuse(errNotForked)
		p.output.closeHandshake()
		p.finish(&plugin.ExitError{Code: -1, Stuck: true}, time.Now())
		return errNotForked
	}
}

// openStdio makes the pipe of the standard input, and returns the process's end.
func (p *process) openStdio(out *os.File) (*os.File, error) {
	r, w, err := os.Pipe()
	if err == nil {
		p.stdio.open(w, out)
	}
	return r, err
}

var errNotForked = errors.New("the system did not start it in time; does the file system that it is on answer?")

// notStarted leaves the process in the state of one that has ended.
func (p *process) notStarted(err error) error {
	p.refuse(startReason(p.cmd.path, err))
	p.output.closeHandshake()
	p.finish(&plugin.ExitError{Code: -1}, time.Now())
	p.cmd.group.Forget()
	p.cmd.closeGroup()
	p.cmd.copied.close()
	close(p.gone)
	return err
}

// own waits for the process to end, and then sees to what it leaves.
func (p *process) own(process *os.Process, stdout, stderr *os.File) {
	var pipes sync.WaitGroup
	if p.stdio == nil {
		pipes.Go(func() { p.output.readStdout(stdout) })
	}
	pipes.Go(func() { p.output.readStderr(stderr) })

	state := p.reap(process)
	exit, at := exitError(state), time.Now()
	finish := sync.OnceFunc(func() {
		exit.Limit = p.exceeded(exit)
		p.finish(exit, at)
	})

	var left sync.WaitGroup
	left.Go(func() {
		if p.cmd.namespaced { // the kernel has ended it
			p.cmd.group.Forget()
		} else {
			p.cmd.group.End()
		}
	})
	p.output.limit.end()
	end := at.Add(drainTime)
	_, _ = stdout.SetReadDeadline(end), stderr.SetReadDeadline(end)
	// Reading may still wait for the receiver of the log.
	held := time.AfterFunc(drainTime+logGrace, finish)
	if p.stdio != nil {
		p.stdio.end()
		_ = p.stdio.Close()
	}
	pipes.Wait()
	held.Stop()
	_, _ = stdout.Close(), stderr.Close()
	finish()

	left.Wait()
	p.usage.ended(p, state)
	p.cmd.closeGroup()
	p.cmd.copied.close()
	p.shutBox()
	p.leave()
}

// ownConnection is own for a server without a program: the run ends with the connection.
func (p *process) ownConnection() {
	how := <-p.lost
	p.output.limit.end()
	p.finish(&plugin.ExitError{Code: -1, Lost: how}, time.Now())
	p.leave()
}

// lose ends a run without a program. The first to say how it ended is believed.
func (p *process) lose(how string) {
	select {
	case p.lost <- how:
	default:
	}
}

// leave says that nothing of the run is left.
func (p *process) leave() {
	p.mu.Lock()
	close(p.gone)
	onGone := p.onGone
	p.mu.Unlock()
	if onGone != nil {
		onGone()
	}
}

// onEnd sets what is called when the process has ended: exited before exited is closed, so
// that nothing has seen the end before, and gone when its descendants have ended too.
func (p *process) onEnd(exited, gone func()) {
	p.mu.Lock()
	hasExited, isGone := p.exit != nil, isClosed(p.gone)
	p.onExit, p.onGone = exited, gone
	p.mu.Unlock()
	if hasExited {
		exited()
	}
	if isGone {
		gone()
	}
}

// What a process, or reading its output, may take to end when it must.
const (
	killGrace = 5 * time.Second // after SIGKILL
	endGrace  = time.Second     // of what the process leaves, when that was killed
	logGrace  = time.Second
)

// finish records how the process ended, once.
func (p *process) finish(exit *plugin.ExitError, at time.Time) {
	p.mu.Lock()
	if p.stuck != nil {
		p.stuck.Stop()
	}
	if p.exit != nil {
		p.mu.Unlock()
		return
	}
	p.exit, p.exitTime = exit, at
	onExit := p.onExit
	p.mu.Unlock()
	if onExit != nil {
		onExit()
	}
	close(p.exited)
}

// reap waits for the process to end, and ends what it left in its group, if the system
// allows before its number can be given to another.
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

// kill ends the process and its group at once, or as soon as it is forked. It is safe to
// call at any time. The end is waited for no longer than killGrace: a system call that does
// not return can hold a process for ever.
func (p *process) kill() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.killed = true
	if p.lost != nil {
		p.lose("the connection was closed")
		return
	}
	p.killNow()
}

// killNow is called with the lock held.
func (p *process) killNow() {
	if p.pid == 0 {
		return
	}
	confine.Kill(p.pid)
	if p.stuck == nil {
		p.stuck = time.AfterFunc(killGrace, func() { p.finish(&plugin.ExitError{Code: -1, Stuck: true}, time.Now()) })
	}
}

// terminate asks the process and its group to end.
func (p *process) terminate() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.pid != 0 {
		confine.Terminate(p.pid)
	}
}

// hasEnded reports whether the process has ended.
func (p *process) hasEnded() bool { return isClosed(p.exited) }

// endedItself reports whether the process has ended, and not by kill.
func (p *process) endedItself() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.exit == nil || p.exit.Stuck {
		return false
	}
	return !p.killed || p.exit.Signal != "SIGKILL" && p.lost == nil
}

// endedBefore reports whether the process has ended by itself, and before the time of its start
// was over: a server whose input is closed then ends too.
func (p *process) endedBefore(ctx context.Context) bool {
	if !p.endedItself() {
		return false
	}
	limit, bounded := ctx.Deadline()
	p.mu.Lock()
	defer p.mu.Unlock()
	return !bounded || p.exitTime.Before(limit)
}

// ending says how a process has ended, and why if the host ended it.
func (p *process) ending() string {
	how, why := p.exit.Error(), p.refusal()
	switch {
	case why == nil:
	case !p.endedItself():
		how += " by the host: " + sanitize.Line(why.Error(), 1000)
	case p.stdio != nil: // its standard input was closed for that
		how += ", as " + sanitize.Line(why.Error(), 1000)
	}
	return how
}

func (p *process) setPID(pid int) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.pid = pid
	if pid != 0 {
		p.forked.Store(int64(pid))
		if err := p.cmd.group.Forked(pid); err != nil {
			p.log.Warn("what the plugin leaves is not found if it clears its environment", "error", err)
		}
	}
	if p.killed {
		p.killNow()
	}
}

// refuse records why the plugin cannot be used. The first reason stays.
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

// id returns the process number or, if there is no process, the plugin's name. It is never
// empty: go-plugin cleans up only after a process that has an ID.
func (p *process) id() string {
	if pid := p.number(); pid != 0 {
		return strconv.Itoa(pid)
	}
	return p.name
}

// number returns the process number; 0: there is no process.
func (p *process) number() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.pid
}

// isKilled reports whether the host has ended the run.
func (p *process) isKilled() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.killed
}
