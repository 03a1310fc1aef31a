package plugin

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/internal/deadline"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Plugin is a plugin binary as a [tool.Provider]. Its process is started by the
// first call that needs it, and again by the first call after it has ended.
type Plugin struct {
	candidate Candidate
	cfg       Config

	current atomic.Pointer[instance] // the run that calls go to; nil: none
	edition atomic.Pointer[edition]  // what it said of itself last; nil: it was not asked
	next    atomic.Pointer[Plugin]   // that calls go to in place of this one; nil: none
	holds   atomic.Int64             // who keeps it from being stopped for idleness
	faults  atomic.Pointer[Fault]    // the last call that failed by the plugin's fault; nil: none
	changes chan struct{}
	life    context.Context // ends with the plugin
	end     context.CancelFunc
	owners  sync.WaitGroup // goroutines that own a run

	mu       sync.Mutex // never held while waiting
	closed   bool
	starting *attempt
	last     *instance // the newest run, ended or not
	lastErr  error     // why there is none
	refused  error     // why the host does not want it; nil: it does
	runs     int
	health   health
}

// attempt is one start that several callers may wait for.
type attempt struct {
	done chan struct{}
	run  *instance
	err  error
}

var (
	_ tool.Provider = (*Plugin)(nil)
	_ tool.Notifier = (*Plugin)(nil)
)

// New makes a provider of a plugin binary. Nothing is started yet.
func New(c Candidate, cfg Config) *Plugin {
	life, end := context.WithCancel(context.Background())
	return &Plugin{
		candidate: c, cfg: cfg.withDefaults(), changes: make(chan struct{}, 1), life: life, end: end,
		health: health{policy: cfg.Restart.withDefaults()},
	}
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return p.candidate.Name }

// List implements [tool.Provider]: the definitions as the plugin claims them.
// It starts the plugin where it was never asked.
//
// # Errors
//
// [tool.CodeUnavailable] where the plugin does not start, with the end of its
// standard error as Detail.
func (p *Plugin) List(ctx context.Context) ([]tool.Definition, error) {
	ed, err := p.known(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]tool.Definition, len(ed.about.Tools))
	for i, d := range ed.about.Tools {
		out[i] = d.Clone()
	}
	return out, nil
}

// Execute implements [tool.Provider].
//
// # Errors
//
// Those of [wire.Client.Execute]; [tool.CodeUnavailable] where the plugin does
// not start; [tool.CodeCrashed], with an [*ExitError] as cause and the end of
// standard error as Detail, where its process ended during the call.
func (p *Plugin) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return p.execute(ctx, call, nil, (*instance).execute)
}

// Preview implements [tool.Previewer].
//
// # Errors
//
// Those of Execute; [tool.CodeNotFound] where the tool, or the plugin, has none.
func (p *Plugin) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	return p.execute(ctx, call, nil, (*instance).preview)
}

// execute runs a call, or its preview, that was decided by an edition; nil: by any.
func (p *Plugin) execute(ctx context.Context, call tool.Call, by *edition, do func(*instance, context.Context, tool.Call) (tool.Result, error)) (tool.Result, error) {
	for {
		run, err := p.ready(ctx)
		if next := p.next.Load(); next != nil {
			return next.execute(ctx, call, by, do)
		}
		if err == nil {
			err = p.check(by, call)
		}
		if err != nil {
			return tool.Result{}, err
		}
		if run.calls.begin() {
			defer run.calls.end()
			run.rest.use()
			return do(run, ctx, call)
		}
	}
}

// Ready starts the plugin where it is not running, and returns when it takes calls. A
// call does so itself; who bounds calls can let the start have time of its own.
//
// # Errors
//
// Those of [Plugin.Execute] that say it does not start.
func (p *Plugin) Ready(ctx context.Context) error {
	_, err := p.ready(ctx)
	if next := p.next.Load(); next != nil {
		return next.Ready(ctx)
	}
	return err
}

// Changes implements [tool.Notifier]: a receive after the plugin describes itself
// otherwise than before, or than was recalled, unless [Config.Changed] is told.
func (p *Plugin) Changes() <-chan struct{} { return p.changes }

// Close implements [tool.Provider]. Calls under way may end first, within
// [Config.DrainTimeout] and ctx; then the process is asked to end, and ended.
func (p *Plugin) Close(ctx context.Context) error {
	drain, cancel := context.WithTimeout(ctx, p.cfg.DrainTimeout)
	defer cancel()
	return p.close(ctx, drain)
}

// close ends the run when its calls have ended, or drain has.
func (p *Plugin) close(ctx, drain context.Context) error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if first {
		if run := p.current.Swap(nil); run != nil {
			run.calls.drain(drain)
			run.stop(ctx)
		}
		p.end() // and with it a start under way
	}
	p.owners.Wait()
	if first {
		close(p.changes)
	}
	return nil
}

// ready is a run that takes calls: the current one, or a new one.
func (p *Plugin) ready(ctx context.Context) (*instance, error) {
	for {
		if run := p.current.Load(); run != nil && !run.dead() {
			return run, nil
		}
		a, pause, err := p.attempt()
		if err != nil {
			return nil, err
		}
		if pause > 0 {
			t := time.NewTimer(pause)
			select {
			case <-t.C:
				continue
			case <-ctx.Done():
			case <-p.life.Done():
				continue
			}
			t.Stop()
			return nil, p.notReady(ctx)
		}
		select {
		case <-a.done:
			return a.run, a.err
		case <-ctx.Done():
			return nil, p.notReady(ctx)
		}
	}
}

func (p *Plugin) notReady(ctx context.Context) error {
	return &tool.Error{
		Code: tool.CodeOf(ctx.Err()), Plugin: p.Name(), Stage: tool.StageStart, Unsent: true, Err: ctx.Err(),
		Message: fmt.Sprintf("plugin %s was not ready in time: %v", p.Name(), deadline.Cause(ctx)),
	}
}

// attempt joins the start that is under way, or begins one, or says how long to
// wait before the next.
func (p *Plugin) attempt() (*attempt, time.Duration, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, 0, &tool.Error{
			Code: tool.CodeUnavailable, Plugin: p.Name(), Stage: tool.StageStart, Unsent: true,
			Message: fmt.Sprintf("plugin %s is shut down", p.Name()), Hint: "the host is closing, or the plugin was removed",
		}
	}
	if p.refused != nil {
		return nil, 0, &tool.Error{
			Code: tool.CodeUnavailable, Plugin: p.Name(), Stage: tool.StageStart, Unsent: true, Err: p.refused,
			Message: fmt.Sprintf("plugin %s is refused: %s", p.Name(), tool.AsError(p.refused).Message), Hint: "see toolhost plugins show " + p.Name(),
		}
	}
	if run := p.current.Load(); run != nil && !run.dead() {
		return finished(run), 0, nil
	}
	if p.starting == nil {
		p.mourn()
		pause, err := p.health.mayStart(time.Now(), p.Name())
		if pause > 0 || err != nil {
			return nil, pause, err
		}
		a := &attempt{done: make(chan struct{})}
		p.starting = a
		p.runs++
		p.owners.Go(func() { p.own(a) })
	}
	return p.starting, 0, nil
}

// mourn notes the end of a run, once. The lock is held.
func (p *Plugin) mourn() {
	if p.last == nil || p.last.mourned || !p.last.dead() {
		return
	}
	run := p.last
	run.mourned = true
	if !run.wanted.Load() && !run.maybeAsked() {
		p.health.ended(time.Now(), time.Since(run.since), run.ending())
	}
}

// Refuse lets the host have the plugin no more, as what it says of itself cannot be
// used: its run is ended, when its calls have ended, and no other is started until
// [Plugin.Restart]. Nil takes that back.
func (p *Plugin) Refuse(why error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.refused = why
	p.retire()
}

// retire ends the run of a plugin that is refused. The lock is held.
func (p *Plugin) retire() {
	if p.refused == nil || p.closed {
		return
	}
	run := p.current.Swap(nil)
	if run == nil || run.dead() {
		return
	}
	run.wanted.Store(true)
	p.owners.Go(func() {
		drain, cancel := context.WithTimeout(p.life, p.cfg.DrainTimeout)
		defer cancel()
		run.calls.drain(drain)
		run.stop(p.life)
	})
}

// Restart ends the plugin's run, if there is one, when its calls have ended, within
// [Config.DrainTimeout] and ctx, and forgets its failures. The next call starts it.
// Of one that was refused, what it said is forgotten too.
func (p *Plugin) Restart(ctx context.Context) error {
	p.mu.Lock()
	if p.refused != nil {
		p.refused = nil
		p.edition.Store(nil)
	}
	p.health.restore()
	p.lastErr = nil
	run := p.current.Load()
	p.mu.Unlock()
	if run == nil || run.dead() {
		return nil
	}
	run.wanted.Store(true)
	p.current.CompareAndSwap(run, nil) // new calls start the next
	drain, cancel := context.WithTimeout(ctx, p.cfg.DrainTimeout)
	defer cancel()
	run.calls.drain(drain)
	run.stop(ctx)
	return ctx.Err()
}

func finished(run *instance) *attempt {
	a := &attempt{done: make(chan struct{}), run: run}
	close(a.done)
	return a
}

// launch starts a process, in the directory for sockets that there is by then.
func (p *Plugin) launch() (_ *instance, err error) {
	cfg := p.cfg
	if cfg.Admit != nil {
		if err := cfg.Admit(); err != nil {
			return nil, pinned(err)
		}
	}
	if cfg.Sockets != nil {
		if cfg.TempDir, err = cfg.Sockets(); err != nil {
			return nil, err
		}
	}
	run, err := launch(p.life, p.candidate, cfg, p.ask)
	if err == nil {
		run.faults = &p.faults
	}
	return run, err
}

// own begins a run. The process has a goroutine that sees to its end; no other is
// kept for it.
func (p *Plugin) own(a *attempt) {
	run, err := p.launch()
	a.run, a.err = run, err
	p.note(run, err)
	close(a.done)
	if err != nil {
		p.cfg.Logger.Info("plugin did not start", "plugin", p.Name(), "error", err)
		return
	}
	p.cfg.Logger.Debug("plugin started", "plugin", p.Name(), "pid", run.proc.id(), "took", run.took)
	p.owners.Add(1)
	stop := context.AfterFunc(p.life, run.proc.kill)
	p.watchRest(run)
	run.proc.afterwards(func() {
		defer p.owners.Done()
		stop()
		run.rest.stop()
		run.release()
		p.cfg.Logger.Debug("plugin ended", "plugin", p.Name(), "status", run.proc.exit)
	})
}

// note publishes how a start ended.
func (p *Plugin) note(run *instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting = nil
	p.lastErr = err
	if err != nil {
		if p.life.Err() == nil && !errors.Is(err, errPinned) {
			p.health.failed(time.Now(), tool.AsError(err).Message)
		}
		return
	}
	p.last = run
	if p.publish(*run.about.Load()) { // before any call can be sent there
		p.tell()
	}
	p.current.Store(run)
	p.retire()
}
