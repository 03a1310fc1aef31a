package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Plugin is a plugin binary as a [tool.Provider]. Its process is started by the
// first call that needs it, and again by the first call after it has ended.
type Plugin struct {
	candidate Candidate
	cfg       Config

	current atomic.Pointer[instance] // the run that calls go to; nil: none
	changes chan struct{}
	life    context.Context // ends with the plugin
	end     context.CancelFunc
	owners  sync.WaitGroup // goroutines that own a run

	mu       sync.Mutex // never held while waiting
	closed   bool
	starting *attempt
	last     *instance // the newest run, ended or not
	lastErr  error     // why there is none
	runs     int
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
	return &Plugin{candidate: c, cfg: cfg.withDefaults(), changes: make(chan struct{}, 1), life: life, end: end}
}

// Name is the plugin's name.
func (p *Plugin) Name() string { return p.candidate.Name }

// List implements [tool.Provider]: the definitions as the plugin claims them.
// It starts the plugin where it is not running.
//
// # Errors
//
// [tool.CodeUnavailable] where the plugin does not start, with the end of its
// standard error as Detail.
func (p *Plugin) List(ctx context.Context) ([]tool.Definition, error) {
	run, err := p.ready(ctx)
	if err != nil {
		return nil, err
	}
	out := make([]tool.Definition, len(run.about.Tools))
	for i, d := range run.about.Tools {
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
	for {
		run, err := p.ready(ctx)
		if err != nil {
			return tool.Result{}, err
		}
		if run.calls.begin() {
			defer run.calls.end()
			return run.execute(ctx, call)
		}
	}
}

// Changes implements [tool.Notifier]: a receive after the plugin was started
// anew and describes itself differently.
func (p *Plugin) Changes() <-chan struct{} { return p.changes }

// Close implements [tool.Provider]. Calls under way may end first, within
// [Config.DrainTimeout] and ctx; then the process is asked to end, and ended.
func (p *Plugin) Close(ctx context.Context) error {
	p.mu.Lock()
	first := !p.closed
	p.closed = true
	p.mu.Unlock()
	if first {
		if run := p.current.Swap(nil); run != nil {
			drain, cancel := context.WithTimeout(ctx, p.cfg.DrainTimeout)
			run.calls.drain(drain)
			cancel()
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
	if run := p.current.Load(); run != nil && !run.dead() {
		return run, nil
	}
	a, err := p.attempt()
	if err != nil {
		return nil, err
	}
	select {
	case <-a.done:
		return a.run, a.err
	case <-ctx.Done():
		return nil, &tool.Error{
			Code: tool.CodeOf(ctx.Err()), Plugin: p.Name(), Stage: tool.StageStart, Unsent: true, Err: ctx.Err(),
			Message: fmt.Sprintf("plugin %s was not ready in time: %v", p.Name(), context.Cause(ctx)),
		}
	}
}

// attempt joins the start that is under way, or begins one.
func (p *Plugin) attempt() (*attempt, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return nil, &tool.Error{
			Code: tool.CodeUnavailable, Plugin: p.Name(), Stage: tool.StageStart, Unsent: true,
			Message: fmt.Sprintf("plugin %s is shut down", p.Name()), Hint: "the host is closing, or the plugin was removed",
		}
	}
	if run := p.current.Load(); run != nil && !run.dead() {
		return finished(run), nil
	}
	if p.starting == nil {
		a := &attempt{done: make(chan struct{})}
		p.starting = a
		p.runs++
		p.owners.Go(func() { p.own(a) })
	}
	return p.starting, nil
}

func finished(run *instance) *attempt {
	a := &attempt{done: make(chan struct{}), run: run}
	close(a.done)
	return a
}

// own is the one goroutine that owns one child, from its start to its end.
func (p *Plugin) own(a *attempt) {
	run, err := launch(p.life, p.candidate, p.cfg)
	a.run, a.err = run, err
	p.note(run, err)
	close(a.done)
	if err != nil {
		p.cfg.Logger.Info("plugin did not start", "plugin", p.Name(), "error", err)
		return
	}
	p.cfg.Logger.Debug("plugin started", "plugin", p.Name(), "pid", run.proc.id(), "took", run.took)
	select {
	case <-run.proc.exited:
	case <-p.life.Done():
	}
	run.release()
	p.cfg.Logger.Debug("plugin ended", "plugin", p.Name(), "status", run.proc.exit)
}

// note publishes how a start ended.
func (p *Plugin) note(run *instance, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.starting = nil
	p.lastErr = err
	if err != nil {
		return
	}
	changed := p.last != nil && !reflect.DeepEqual(p.last.about, run.about)
	p.last = run
	p.current.Store(run)
	if changed {
		select {
		case p.changes <- struct{}{}:
		default:
		}
	}
}

// State is what an operator sees of a plugin.
type State string

// The states.
const (
	Idle     State = "idle"     // not running; the next call starts it
	Starting State = "starting" // started, not described yet
	Ready    State = "ready"    // takes calls
	Draining State = "draining" // takes no more calls
	Refused  State = "refused"  // did not start, or must not
)

// Status is a plugin at one moment.
type Status struct {
	Name    string `json:"name"`
	Path    string `json:"path"`
	State   State  `json:"state"`
	Reason  string `json:"reason,omitempty"` // why it is refused, or how the last run ended
	PID     int    `json:"pid,omitempty"`
	Version string `json:"version,omitempty"` // the plugin's own
	SDK     string `json:"sdk,omitempty"`
	Tools   int    `json:"tools"`
	// Calls counts the calls under way.
	Calls int `json:"calls"`
	// Starts counts the runs begun.
	Starts int `json:"starts"`
	// Took is how long the newest start took, from fork to description.
	Took tool.Duration `json:"start_took,omitempty"`
	// Since is when the newest run was ready; zero: never.
	Since time.Time `json:"since,omitzero"`
}

// Status tells what the plugin is doing.
func (p *Plugin) Status() Status {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := Status{Name: p.Name(), Path: p.candidate.Path, State: Idle, Starts: p.runs}
	if run := p.last; run != nil {
		s.Version, s.SDK, s.Tools = run.about.Version, run.about.SDK, len(run.about.Tools)
		s.Took, s.Since = tool.Duration(run.took), run.since
		if run.dead() {
			s.Reason = "the last run ended: " + run.proc.exit.Error()
		} else {
			s.State, s.PID, s.Calls = Ready, run.proc.number(), int(run.calls.n.Load())
		}
	}
	switch {
	case p.closed:
		s.State = Draining
	case p.starting != nil:
		s.State = Starting
	case p.lastErr != nil:
		s.State, s.Reason = Refused, p.lastErr.Error()
		var e *tool.Error
		if errors.As(p.lastErr, &e) {
			s.Reason = e.Message
		}
	}
	return s
}
