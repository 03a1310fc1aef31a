package dev

import (
	"context"
	"errors"
	"github.com/toolhost/toolhost/internal/journal"
	"path/filepath"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/daemon"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Options say how a plugin is developed.
type Options struct {
	Grants []tool.Capability // that callers may have
	Yes    bool              // callers may approve dangerous calls with --yes
	// Call is made after each reload; its name is empty if none is.
	Call control.Call
	// Once ends the run after the first build, and the call.
	Once bool
}

// drainTime is how long calls in progress may take at the end.
const drainTime = 5 * time.Second

// runner is one run.
type runner struct {
	Options
	project  *Project
	place    *place
	session  *session.Session
	teller   *teller
	host     *host.Host
	follower *follower
	calls    calls
	connect  []string // the flags of other commands; nil: they were told
	named    bool     // by what was built
}

// Run builds a plugin, serves it as a daemon does, and builds it again whenever its sources change,
// until ctx ends. One of [Reattach] is served as it runs, until its process ends.
//
// # Errors
//
// [*exit.Error] if the settings cannot be used; with [Options.Once], what keeps the plugin from
// serving, or its call from succeeding.
func Run(ctx context.Context, s *session.Session, p *Project, o Options) (err error) {
	if err := s.Configure(false); err != nil {
		return err
	}
	required := requiredBy(s.Settings().Config)
	pl, err := newPlace(ctx)
	if err != nil {
		return exit.With(exit.Failed, err)
	}
	defer func() { err = errors.Join(err, pl.remove()) }()
	s.Flags.Developed, s.Flags.Socket = pl.served(), pl.socket()
	told := &teller{out: s.Out, err: s.Err, json: s.Flags.JSON}
	r := &runner{Options: o, project: p, place: pl, session: s.Silent(), teller: told}
	r.session.Serving = true
	if err := r.session.Configure(false); err != nil {
		return err
	}
	if r.connect, err = connectFlags(r.session); err != nil {
		return err
	}
	if required != "" {
		r.teller.tell(Event{Kind: Note, Plugin: p.Name, Text: required})
	}
	ctx, end := context.WithCancel(ctx)
	defer end()
	served := make(chan error, 1)
	serving := make(chan *host.Host, 1)
	go func() {
		served <- daemon.Serve(ctx, r.session, r.daemonOptions(serving))
		end()
	}()
	select {
	case r.host = <-serving:
	case err := <-served:
		return err
	}
	r.follower = newFollower(r.host, p.Name, r.teller)
	ending := "the plugin ends"
	if p.running == nil {
		err = r.loop(ctx)
	} else {
		err, ending = r.reattach(ctx), "the plugin is let go"
	}
	r.teller.tell(Event{Kind: Ending, Plugin: p.Name, Text: ending})
	end()
	err = errors.Join(err, <-served)
	r.follower.close()
	return err
}

// requiredBy says which checks a configuration requires that a run leaves out; empty: none. The author
// has just built, or started, what runs: no lock knows it, and it is not signed. Refusing would
// protect from nothing, as the author can run it without a host, too.
func requiredBy(c *config.Config) string {
	var keys []string
	if c.Lock != "" && c.Lock != config.LockOff {
		keys = append(keys, "lock")
	}
	if c.Trust.Required {
		keys = append(keys, "trust.required")
	}
	if len(keys) == 0 {
		return ""
	}
	return "not applied here: " + strings.Join(keys, " and ") + " of " + c.File + "; what is being developed is neither locked nor signed"
}

// daemonOptions are those of the daemon that serves. Nothing waits for the operator.
func (r *runner) daemonOptions(serving chan<- *host.Host) daemon.Options {
	return daemon.Options{
		Grants: r.Grants, Yes: r.Yes, Drain: drainTime,
		Host: []host.Option{
			host.WithHooks(policy.Hooks{Before: r.calls.begun, After: r.called, Error: r.called}), host.WithHolding(false),
		},
		Serving: func(h *host.Host) { serving <- h },
	}
}

// connectFlags are the flags by which other commands use this run.
func connectFlags(s *session.Session) ([]string, error) {
	id, err := s.Settings().Identity()
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	out := []string{"--socket", s.Flags.Socket, "--plugin-dir", s.Flags.Developed, "--root", id.Root}
	if id.Config != "" {
		out = append(out, "--config", id.Config)
	}
	return out, nil
}

// loop builds and serves, until ctx ends.
func (r *runner) loop(ctx context.Context) error {
	w := newWatch(newSources(r.project, &r.calls))
	defer w.close()
	for {
		if _, err := w.look(ctx); err != nil {
			return ended(ctx, err)
		}
		changed, err := r.renew(ctx)
		w.sources.built(changed)
		if r.Once || ctx.Err() != nil {
			return ended(ctx, err)
		}
		if err := w.wait(ctx); err != nil {
			return ended(ctx, err)
		}
	}
}

// ended returns the error of what was under way; nil if ctx has ended.
func ended(ctx context.Context, err error) error {
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that is how a run ends
	}
	return err
}

// renew builds the plugin, makes it serve in place of the one before, and makes the call. It reports
// whether the build has made anything else than the one before.
func (r *runner) renew(ctx context.Context) (changed bool, err error) {
	began := time.Now()
	name, old := r.project.Name, r.serves()
	defer func() { r.named = r.named || r.place.sum != nil }()
	if c := r.project.Command(); c != "" {
		r.teller.tell(Event{Kind: Building, Plugin: name, Command: c})
	}
	built, said, err := r.project.build(ctx, r.place.scratch())
	if ctx.Err() != nil {
		return true, ctx.Err()
	}
	if err == nil {
		if !r.named { // from its first build on it keeps the name
			name = nameFor(pluginrun.NameOf(filepath.Base(built)))
			r.project.Name, r.follower.name = name, name
		}
		changed, err = r.place.put(built, name)
	}
	if err != nil {
		failure := failureOf(exit.With(exit.Failed, err))
		failure.Message = "the build failed: " + failure.Message
		r.teller.tell(Event{Kind: BuildFailed, Plugin: name, Text: said, Error: failure, Duration: millis(time.Since(began)), Old: old})
		return true, exit.With(exit.Failed, errors.New("the plugin was not built"))
	}
	if !changed && old {
		r.teller.tell(Event{Kind: Unchanged, Plugin: name})
		return false, nil
	}
	if err := r.sync(ctx, began, old); err != nil {
		return true, err
	}
	return true, r.call(ctx)
}

// serves reports whether the plugin has a description that is in use.
func (r *runner) serves() bool {
	_, ok := session.Status(r.host.Plugins(), r.project.Name)
	return ok && r.host.Len() > 0
}

// sync makes the host serve what was built.
func (r *runner) sync(ctx context.Context, began time.Time, old bool) error {
	name := r.project.Name
	err := r.host.SyncPlugin(ctx, name, r.place.served())
	r.follower.follow()
	if ctx.Err() != nil {
		return ctx.Err()
	}
	if err == nil {
		err = r.giveNeeds(ctx)
	}
	if err != nil {
		for _, fault := range session.Faults(err) {
			failure := failureOf(fault)
			failure.Hint = ""
			r.teller.tell(Event{Kind: NotServed, Plugin: name, Error: failure, Old: old})
		}
		return unserved(name, "the plugin does not serve what was built")
	}
	status, _ := session.Status(r.host.Plugins(), name)
	r.serving(began, status.PID)
	return nil
}

// unserved returns the error of a run whose plugin does not serve; why was told.
func unserved(name, message string) error {
	return tool.Errorf(tool.CodeUnavailable, "%s", message).Of("", name)
}

// serving tells what is served, by which process.
func (r *runner) serving(began time.Time, pid int) {
	e := Event{Kind: Serving, Plugin: r.project.Name, PID: pid, Duration: millis(time.Since(began)), Connect: r.connect}
	if r.project.running != nil {
		e.Text = "reattached to"
	}
	for _, t := range r.host.Tools(host.Filter{}) {
		e.Tools = append(e.Tools, t.Name)
	}
	r.teller.tell(e)
	if !r.teller.json {
		r.connect = nil
	}
}

// giveNeeds gives the plugin what it declares, and its tools the levels that they were given: its
// author is who would have to accept that.
func (r *runner) giveNeeds(ctx context.Context) error {
	status, ok := session.Status(r.host.Plugins(), r.project.Name)
	if ok && len(status.Changed) > 0 {
		if err := r.host.AcceptLevels(r.project.Name); err != nil {
			return err
		}
	}
	if !ok || status.WantsMore == nil {
		return nil
	}
	r.teller.tell(Event{Kind: Needs, Plugin: r.project.Name, Text: "more is needed than before, and given: " + status.WantsMore.Text})
	return r.host.AcceptNeeds(ctx, r.project.Name, status.Needs)
}

// call makes the call that follows each reload.
func (r *runner) call(ctx context.Context) error {
	if r.Call.Name == "" {
		return nil
	}
	answer := session.CallAs(r.watched(ctx), r.host, r.Call,
		session.Allowance{All: true, Caller: r.session.Settings().Caller()}, setup.Askers{})
	out := answer.Outcome
	e := Event{Kind: Answered, Plugin: r.project.Name, Tool: r.Call.Name, Call: out.ID, Text: out.Content, Outcome: outcomeOf(answer.Result, answer.Err)}
	if answer.Err != nil {
		e.Error = failureOf(answer.Err)
		e.Text = e.Error.Message
	}
	r.teller.tell(e)
	if answer.Err == nil && answer.Result.IsError {
		return exit.With(exit.Failed, errors.New(out.Content))
	}
	return answer.Err
}

// watched returns ctx for the call with what shows on a terminal how far it is: what it reports, and the
// last line of the text that it streams. The text is in its answer.
func (r *runner) watched(ctx context.Context) context.Context {
	if r.teller.json || !r.teller.err.Terminal() {
		return ctx
	}
	show := func(what string) { r.teller.status(r.Call.Name + ": " + what) }
	ctx = tool.WithProgress(ctx, func(p tool.Progress) { show(output.Progress(p)) })
	text := ""
	return tool.WithDeltas(ctx, func(d tool.Delta) {
		text += d.Text
		text = text[strings.LastIndex(strings.TrimRight(text, "\n"), "\n")+1:]
		show(text)
	})
}

// called shows a call that has ended.
func (r *runner) called(e policy.Event) {
	r.calls.ended(e)
	r.teller.tell(Event{
		Kind: Called, Plugin: e.Plugin, Tool: e.Call.Name, Call: e.Call.ID, Caller: strings.TrimSpace(e.Caller + " " + e.Via),
		Duration: millis(e.Duration), Outcome: outcomeOf(e.Result, e.Err), Error: failureOf(e.Err),
	})
}

// follower shows what the plugin writes, and what the host says of it.
type follower struct {
	host   *host.Host
	name   string
	teller *teller
	stop   chan struct{}
	done   chan struct{} // nil: it is not followed
}

func newFollower(h *host.Host, name string, t *teller) *follower {
	return &follower{host: h, name: name, teller: t, stop: make(chan struct{})}
}

// follow begins to show the lines, once there are any.
func (f *follower) follow() {
	of := f.host.Journal(f.name)
	if f.done != nil || of == nil {
		return
	}
	f.done = make(chan struct{})
	go func() {
		defer close(f.done)
		last := uint64(0)
		for over := false; ; {
			lines, more := of.Since(last)
			for _, l := range lines {
				last = l.Number
				f.show(l)
			}
			if over {
				return
			}
			select {
			case <-more:
			case <-f.stop: // what was written last is shown, too
				over = true
			}
		}
	}()
}

func (f *follower) close() {
	close(f.stop)
	if f.done != nil {
		<-f.done
	}
}

// denies begins a line of the host on what the sandbox denied.
const denies = "the sandbox denies: "

func (f *follower) show(l journal.Entry) {
	e := Event{Kind: Log, Plugin: f.name, Text: l.Text, Level: l.Level, PID: l.PID, Call: l.Call}
	switch l.Event {
	case journal.Started, journal.Ended, journal.Accepted, journal.Answered, journal.ToolsChanged: // it tells of these itself
		return
	}
	if l.Event != "" {
		e.Kind = Host
		if what, ok := strings.CutPrefix(l.Text, denies); ok {
			e.Kind, e.Text = Denied, what
		}
	}
	f.teller.tell(e)
}
