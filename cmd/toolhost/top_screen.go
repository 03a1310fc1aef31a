package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"sync"
	"time"

	tea "charm.land/bubbletea/v2"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/activity"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/approval"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/terminal"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/view"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/sanitize"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

// How often what is drawn is sent to the terminal at most, and how often a daemon or a question is looked for.
const (
	framesPerSecond = 20
	drawPace        = 250 * time.Millisecond // for what others tell
	searchPace      = 500 * time.Millisecond
)

// maxLog is how many lines of a log are kept.
const maxLog = 1000

// top is the screen on a terminal. What others tell comes in on other goroutines than the event loop, which may
// be waiting for a person.
type top struct {
	s        *session.Session
	ctx      context.Context //nolint:containedctx // of the command
	feeding  chan error      // why nothing was told at all
	news     chan struct{}   // there is something to draw
	commands sync.Mutex      // held while the settings are read

	mu     sync.Mutex // held while the rest is used
	client *control.Client
	data   *view.Data // nil until the daemon has told something
	screen view.Screen
	width  int
	height int
	typing bool               // the filter is being typed
	sure   tea.Cmd            // what a yes does; nil: nothing was asked
	unlog  context.CancelFunc // ends the log that is shown; nil: none is
}

type (
	newsMsg struct{}
	noteMsg string            // for the last line
	askMsg  approval.Question // is to be put
)

func newTop(s *session.Session, c *control.Client) *top {
	return &top{
		s: s, client: c, feeding: make(chan error, 1), news: make(chan struct{}, 1),
		screen: view.Screen{Color: output.ColorWelcome(), Title: titleOf(c)},
	}
}

func (t *top) run(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	t.ctx = ctx
	go t.feed(ctx)
	select { // what cannot be had at all is said where the command was typed
	case err := <-t.feeding:
		return err
	case <-t.news:
	}
	p := tea.NewProgram(t, tea.WithContext(ctx), tea.WithFPS(framesPerSecond), tea.WithoutSignalHandler())
	go func() {
		pace := time.NewTicker(drawPace)
		defer pace.Stop()
		for range pace.C {
			select {
			case <-t.news:
				p.Send(newsMsg{})
			case <-ctx.Done():
				return
			}
		}
	}()
	_, err := p.Run()
	if ctx.Err() != nil { // a signal came
		return nil
	}
	return err
}

// change changes what is shown, and has it drawn.
func (t *top) change(f func()) {
	t.mu.Lock()
	f()
	t.mu.Unlock()
	select {
	case t.news <- struct{}{}:
	default:
	}
}

// feed takes in what the daemon tells, and looks for the next one when it ends.
func (t *top) feed(ctx context.Context) {
	c, began := t.client, false
	for ctx.Err() == nil {
		first := true
		err := c.Activity(ctx, activityPace, func(a *daemonv1.Activity) error {
			t.change(func() { t.data, t.screen.State = t.data.With(a, first), "" })
			first, began = false, true
			return nil
		})
		if !began {
			t.feeding <- err
			return
		}
		t.change(func() { t.screen.State = "the daemon has ended; waiting for one" })
		for c = nil; c == nil && ctx.Err() == nil; {
			select {
			case <-time.After(searchPace):
			case <-ctx.Done():
			}
			t.commands.Lock()
			c, _ = dialCallers(ctx, t.s.Silent(), true)
			t.commands.Unlock()
		}
		if c != nil {
			t.change(func() { t.client, t.screen.Title = c, titleOf(c) })
		}
	}
}

// Init implements [tea.Model].
func (*top) Init() tea.Cmd { return nil }

// View implements [tea.Model].
func (t *top) View() tea.View {
	t.mu.Lock()
	defer t.mu.Unlock()
	v := tea.NewView(strings.Join(t.screen.Draw(t.data, t.width, t.height), "\n"))
	v.AltScreen = true
	return v
}

// Update implements [tea.Model].
func (t *top) Update(m tea.Msg) (tea.Model, tea.Cmd) {
	t.mu.Lock()
	defer t.mu.Unlock()
	switch m := m.(type) {
	case tea.WindowSizeMsg:
		t.width, t.height = m.Width, m.Height
	case noteMsg:
		t.screen.Note = string(m)
	case askMsg:
		return t, tea.Exec(outside(func() error { return t.ask(approval.Question(m)) }), noteOf("answered "+m.ID))
	case tea.KeyPressMsg:
		return t, t.press(m)
	}
	return t, nil
}

// press does what a key does.
func (t *top) press(m tea.KeyPressMsg) tea.Cmd {
	key := m.String()
	sure := t.sure
	t.sure = nil
	switch {
	case key == "ctrl+c":
		return tea.Quit
	case t.typing:
		t.filter(key, m.Text)
		return nil
	}
	t.screen.Note = ""
	if sure != nil {
		if key == "y" || key == "Y" {
			t.screen.Note = "…"
			return sure
		}
		return nil
	}
	switch key {
	case "q":
		return tea.Quit
	case "ctrl+z":
		return tea.Suspend
	case "ctrl+l":
		return tea.ClearScreen
	case "esc":
		if t.screen.Pane == nil {
			t.screen.Filter = ""
		}
		t.close()
	case "?":
		t.close()
		t.screen.Pane = view.Help()
	default:
		if !t.screen.Move(t.data, key) && t.screen.Pane == nil {
			return t.act(key)
		}
	}
	return nil
}

// filter takes a key for the filter.
func (t *top) filter(key, text string) {
	switch f := []rune(t.screen.Filter); key {
	case "esc":
		t.screen.Filter, t.typing = "", false
	case "enter":
		t.typing = false
	case "backspace":
		t.screen.Filter = string(f[:max(0, len(f)-1)])
	default:
		t.screen.Filter += sanitize.Line(text, 0)
	}
	t.screen.Note = ""
	if t.typing {
		t.screen.Note = "show only: " + t.screen.Filter + "█"
	}
}

// close closes what is shown in place of the lists.
func (t *top) close() {
	t.screen.Pane = nil
	if t.unlog != nil {
		t.unlog()
		t.unlog = nil
	}
}

// act does what a key does about the chosen row.
func (t *top) act(key string) tea.Cmd {
	row, ok := t.screen.Chosen(t.data)
	plugin := row.State.GetKind() != activity.KindHost && row.Plugin != ""
	switch {
	case key == "/":
		t.typing = true
		t.filter("", "")
	case key == "a":
		return t.question(t.client, row.ID)
	case !ok:
	case key == "enter" && row.Caller != "":
		t.screen.Filter = row.Caller
		t.screen.Move(t.data, "1")
	case key == "enter":
		t.screen.Pane = t.data.Whole(row)
	case key != "l" && key != "r" && key != "d":
	case !plugin:
		t.screen.Note = "no plugin of this host serves it"
	case key == "l":
		t.showLog(row.Plugin)
	case key == "r":
		t.confirm("restart", "restarted", row.Plugin, t.restart(t.client, row.Plugin))
	case key == "d":
		t.confirm("disable", "disabled", row.Plugin, t.disable(row.Plugin))
	}
	return nil
}

// confirm asks whether something is to be done with a plugin, and then says that it was.
func (t *top) confirm(what, was, name string, do func() error) {
	t.screen.Note = fmt.Sprintf("%s %s? y does it", what, name)
	t.sure = func() tea.Msg { return noteOf(was + " " + name)(do()) }
}

// noteOf returns what notes that something was done, or why not.
func noteOf(done string) tea.ExecCallback {
	return func(err error) tea.Msg {
		if err != nil {
			done = sanitize.Line(err.Error(), 500)
		}
		return noteMsg(done)
	}
}

func (t *top) restart(c *control.Client, name string) func() error {
	return func() error {
		_, err := control.Do(t.ctx, c, daemonv1.DaemonHandler.RestartPlugin, &daemonv1.RestartPluginRequest{Name: name})
		return err
	}
}

// disable does what toolhost plugins disable does, and puts it on record as that.
func (t *top) disable(name string) func() error {
	return func() error {
		t.commands.Lock()
		defer t.commands.Unlock()
		s := t.s.Silent()
		if err := s.Configure(true); err != nil {
			return err
		}
		if s.Daemon(t.ctx) == nil {
			return s.NoDaemon("")
		}
		err := disablePlugin(t.ctx, s, name)
		return errors.Join(err, s.Record("plugins disable", name, err))
	}
}

// showLog shows what a plugin writes.
func (t *top) showLog(name string) {
	ctx, cancel := context.WithCancel(t.ctx)
	pane, client := &view.Pane{Title: "Log of " + name, Follow: true}, t.client
	t.close()
	t.screen.Pane, t.unlog = pane, cancel
	add := func(text string) {
		t.change(func() {
			if pane.Lines = append(pane.Lines, text); len(pane.Lines) > 2*maxLog {
				pane.Lines = slices.Clone(pane.Lines[maxLog:])
			}
		})
	}
	go func() {
		err := client.Logs(ctx, name, true, func(l journal.Entry) error {
			add(fmt.Sprintf("%s %-5s %s", l.Time.Local().Format(time.TimeOnly+".000"), sanitize.Line(l.Level, 8), sanitize.Line(l.Text, 0)))
			return nil
		})
		if err != nil {
			add(sanitize.Line(err.Error(), 500))
		}
	}()
}

// question finds the question that a call waits for, or the oldest.
func (t *top) question(c *control.Client, call string) tea.Cmd {
	return func() tea.Msg {
		all, err := c.Approvals(t.ctx)
		at := max(0, slices.IndexFunc(all, func(q approval.Question) bool { return q.Call == call }))
		switch {
		case err != nil:
			return noteOf("")(err)
		case len(all) == 0:
			return noteMsg("no question waits in the queue")
		}
		return askMsg(all[at])
	}
}

// ask puts a question as toolhost approvals does. It ends if another answers it.
func (t *top) ask(q approval.Question) error {
	ctx, cancel := context.WithCancel(t.ctx)
	defer cancel()
	t.mu.Lock()
	c := t.client
	t.mu.Unlock()
	r, err := control.Do(ctx, c, daemonv1.DaemonHandler.GetApproval, &daemonv1.GetApprovalRequest{Id: q.ID})
	if err != nil {
		return err
	}
	if q = control.Struct[approval.Question](r.GetApproval()); q.State != approval.Waiting {
		return errors.New(ended(q))
	}
	printQuestion(t.s.Out, q)
	go func() {
		for pace := time.NewTicker(searchPace); ; {
			select {
			case <-ctx.Done():
				pace.Stop()
				return
			case <-pace.C:
			}
			all, err := c.Approvals(ctx)
			if err != nil || !slices.ContainsFunc(all, func(one approval.Question) bool { return one.ID == q.ID }) {
				cancel()
			}
		}
	}()
	tty, err := t.s.OpenTerminal()
	if err != nil {
		return err
	}
	answer, err := terminal.Prompt(ctx, tty, "", askPrompt)
	_ = tty.Close() // which ends a read that was given up
	if ctx.Err() != nil {
		return fmt.Errorf("%s was closed meanwhile", q.ID)
	}
	d, ok := decisionOf(answer)
	if err == nil && !ok {
		err = fmt.Errorf("%s waits on", q.ID)
	}
	if err == nil {
		_, err = c.Answer(ctx, q.ID, d)
	}
	return err
}

// outside is run on the terminal as it was before.
type outside func() error

// Run implements [tea.ExecCommand].
func (f outside) Run() error        { return f() }
func (outside) SetStdin(io.Reader)  {}
func (outside) SetStdout(io.Writer) {}
func (outside) SetStderr(io.Writer) {}
