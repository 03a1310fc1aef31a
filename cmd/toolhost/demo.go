package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"strings"
	"sync"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutDemo = `Show what the host does, in nine steps on the workspace: find the plugins and
start them, list their tools, read a file, describe a symbol, refuse what is not
allowed; then kill a plugin during a call, check that its caller is told at once
and that the other plugin answers as before, and call the killed plugin again.

The demo needs the plugin fs or introspection. It changes no file and leaves no
process running.`

func newDemoCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost demo --root ~/project",
		Use:     "demo",
		Short:   "Show what the host does, on real plugins and files",
		Long:    aboutDemo,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return (&demo{s: s}).run(cmd.Context()) },
	}
}

// demo is one run of the command. After a step has failed the others are left
// out, except for the last, which shuts down.
type demo struct {
	s      *session.Session
	host   *session.Local
	reader *host.Session // has the grant fs:read
	steps  []demoStep
	err    error // of the step that failed
}

// demoReport is the output of demo --json.
type demoReport struct {
	Steps []demoStep `json:"steps"`
}

// demoStep is what demo --json prints for a step.
type demoStep struct {
	Step   int      `json:"step"`
	Title  string   `json:"title"`
	OK     bool     `json:"ok"`
	TookMS float64  `json:"took_ms"`
	Detail []string `json:"detail"`
}

// sample is a call that works, and the plugin that serves it.
type sample struct {
	plugin string
	tool   string
	args   string
	pid    int
}

// crashTimeout bounds the call that is killed. It fails within milliseconds.
const crashTimeout = 10 * time.Second

func (d *demo) run(ctx context.Context) error {
	root, err := filepath.Abs(d.s.Settings().Root)
	if err != nil {
		return err
	}
	d.printf("toolhost demo in %s\n\n", sanitize.Text(root))
	begin := time.Now()
	var victim, other *sample

	d.step(ctx, "start all plugins, side by side", func() error {
		victim, other, err = d.start(ctx)
		return err
	})
	d.step(ctx, "list their tools", func() error {
		var names []string
		for _, t := range d.host.Host.Tools(host.Filter{}) {
			names = append(names, t.Name)
		}
		d.notef("%d tools: %s", len(names), output.Shorten(strings.Join(names, ", "), 150))
		return nil
	})
	d.step(ctx, "read a file", func() error {
		name := d.readableFile(ctx)
		if name == "" {
			d.notef("left out: there is no file in the workspace, or no plugin fs")
			return nil
		}
		res, err := d.call(ctx, "fs.read", fmt.Sprintf(`{"path":%q}`, name))
		d.notef("%s (%d bytes): %s", name, len(res.Text()), output.Shorten(output.FirstLine(res.Text()), 60))
		return err
	})
	d.step(ctx, "describe a Go symbol", func() error {
		if victim.tool != "describe_symbol" {
			d.notef("left out: there is no plugin introspection")
			return nil
		}
		if own := `{"symbol":"Host","package":"./host"}`; d.succeeds(ctx, victim.tool, own) {
			victim.args = own // the workspace is this project's own repository
		}
		res, err := d.call(ctx, victim.tool, victim.args)
		if err != nil {
			return err
		}
		var symbol struct{ Kind, Package, Signature, Doc, Position string }
		if err := json.Unmarshal(res.Structured, &symbol); err != nil {
			return fmt.Errorf("tool %s does not answer as it promises: %w", victim.tool, err)
		}
		d.notef("%s, %s in %s", output.Shorten(output.FirstLine(symbol.Signature), 70), symbol.Kind, symbol.Package)
		d.notef("%s", output.Shorten(output.FirstLine(symbol.Doc), 76))
		d.notef("at %s", symbol.Position)
		return nil
	})
	d.step(ctx, "refuse what is not allowed", func() error {
		allowed := other
		if other == nil {
			allowed = victim
		}
		return errors.Join(
			d.refused(ctx, d.host.Host.Session(), allowed.tool, allowed.args, tool.CodePermissionDenied),
			d.refused(ctx, d.reader, allowed.tool, `{"colour":"red"}`, tool.CodeInvalidArguments),
			d.refused(ctx, d.reader, allowed.tool+"s", "", tool.CodeNotFound))
	})
	d.step(ctx, "kill a plugin in the middle of a call", func() error {
		return d.kill(ctx, victim, other)
	})
	d.step(ctx, "call the other plugin", func() error {
		if other == nil {
			d.notef("left out: %s is the only plugin that the demo knows here", victim.plugin)
			return nil
		}
		if _, err := d.call(ctx, other.tool, other.args); err != nil {
			return err
		}
		s, _ := session.Status(d.host.Host.Plugins(), other.plugin)
		if s.PID != other.pid || s.Starts != 1 {
			return fmt.Errorf("plugin %s answers, but as process %d instead of %d", s.Name, s.PID, other.pid)
		}
		d.notef("%s answers as before (pid %d)", s.Name, s.PID)
		return nil
	})
	d.step(ctx, "call the killed plugin again", func() error {
		if _, err := d.call(ctx, victim.tool, victim.args); err != nil {
			return err
		}
		s, _ := session.Status(d.host.Host.Plugins(), victim.plugin)
		if s.State != plugin.Ready || s.PID == victim.pid {
			return fmt.Errorf("plugin %s answers, but is %s as process %d", s.Name, s.State, s.PID)
		}
		d.notef("%s was started again (pid %d) in %s, and answers", s.Name, s.PID, output.Milliseconds(time.Duration(s.Took)))
		return nil
	})
	if d.host != nil {
		failed := d.err
		d.err = nil
		d.step(ctx, "shut down, and leave nothing behind", func() error { return d.shutdown(ctx, victim) })
		d.err = errors.Join(failed, d.err)
	}

	if d.s.Flags.JSON {
		return d.s.Out.Report(demoReport{d.steps}, d.err)
	}
	if d.err == nil {
		d.printf("\nAll %d steps took %s. A plugin was killed in the middle of a call, and only that call failed.\n",
			len(d.steps), output.Milliseconds(time.Since(begin)))
	}
	return d.err
}

// step runs one step and prints it, the title first, as a step may take seconds.
func (d *demo) step(ctx context.Context, title string, run func() error) {
	if d.err != nil {
		return
	}
	n := len(d.steps) + 1
	d.steps = append(d.steps, demoStep{Step: n, Title: title, Detail: []string{}})
	d.printf("%s  %-52s", d.s.Out.Colored("1", fmt.Sprintf("%2d", n)), title)
	begin := time.Now()
	err := run()
	took := time.Since(begin)
	s := &d.steps[n-1]
	s.OK, s.TookMS = err == nil, float64(took.Microseconds())/1000
	color, failed := "32", ""
	if err != nil {
		color, failed = "31", "  failed"
		d.notef("%s", err)
	}
	d.printf("%s\n", d.s.Out.Colored(color, fmt.Sprintf("%12s", output.Milliseconds(took))+failed))
	for _, note := range s.Detail {
		d.printf("      %s\n", note)
	}
	var own *exit.Error
	switch {
	case err == nil, errors.As(err, &own):
		d.err = err
	case ctx.Err() != nil:
		d.err = tool.Errorf(tool.CodeCanceled, "the demo was ended in step %d: %w", n, context.Cause(ctx))
	default:
		d.err = exit.With(exit.Failed, fmt.Errorf("step %d of the demo failed: %w", n, err))
	}
}

// printf prints for people; programs get the steps.
func (d *demo) printf(format string, args ...any) {
	if !d.s.Flags.JSON {
		d.s.Out.Printf(format, args...)
	}
}

// notef adds a line to the details of the step that runs.
func (d *demo) notef(format string, args ...any) {
	s := &d.steps[len(d.steps)-1]
	s.Detail = append(s.Detail, output.FirstLine(fmt.Sprintf(format, args...)))
}

// start opens the host and chooses the plugin to be killed, and another one if
// there is one.
func (d *demo) start(ctx context.Context) (victim, other *sample, err error) {
	l, err := d.s.OpenLocal(ctx, session.Needs{
		Uncached: true,
		Options: []host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.Limits.MaxRetries = 0
		})}, // a retry would hide the crash
	})
	if err != nil {
		return nil, nil, err
	}
	d.host, d.reader = l, l.Host.Session(host.WithGrants(tool.FSRead))
	var found []*sample
	for _, c := range []sample{
		{tool: "describe_symbol", args: `{"symbol":"fmt.Println"}`},
		{tool: "fs.list", args: `{"limit":1}`},
	} {
		if t, ok := l.Host.Get(c.tool); ok {
			c.plugin = t.Owner
			found = append(found, &c)
		}
	}
	for _, s := range l.Host.Plugins() {
		if s.State == plugin.Ready {
			d.notef("%-14s pid %-8d ready after %s", s.Name, s.PID, output.Milliseconds(time.Duration(s.Took)))
		}
		for _, c := range found {
			if c.plugin == s.Name {
				c.pid = s.PID
			}
		}
	}
	for _, fault := range l.Faults {
		d.notef("not used: %s", output.Message(fault))
	}
	switch len(found) {
	case 0:
		return nil, nil, exit.With(exit.Unavailable, &tool.Error{
			Message: "neither the plugin fs nor introspection is in " + strings.Join(l.Dirs, " or "),
			Hint:    "in toolhost's own repository: make run; elsewhere name their directory with --plugin-dir",
		})
	case 1:
		return found[0], nil, nil
	}
	return found[0], found[1], nil
}

// readableFile chooses a file of the workspace; empty: there is none.
func (d *demo) readableFile(ctx context.Context) string {
	for _, name := range []string{"go.mod", "README.md"} {
		if d.succeeds(ctx, "fs.stat", fmt.Sprintf(`{"path":%q}`, name)) {
			return name
		}
	}
	res, err := d.reader.Execute(ctx, tool.Call{Name: "fs.list"})
	var listed struct {
		Entries []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
			Size int    `json:"size"`
		} `json:"entries"`
	}
	if err != nil || json.Unmarshal(res.Structured, &listed) != nil {
		return ""
	}
	for _, e := range listed.Entries {
		if e.Kind == "file" && e.Size < 1<<20 {
			return e.Path
		}
	}
	return ""
}

// refused makes a call that the host has to refuse without asking the plugin.
func (d *demo) refused(ctx context.Context, by *host.Session, name, args string, want tool.Code) error {
	out, _, err := by.CallWith(ctx, tool.Call{Name: name, Arguments: []byte(args)}, host.CallOptions{})
	if got := tool.CodeOf(err); got != want {
		return fmt.Errorf("the host answered %q instead of %s: %s", got, want, out.Content)
	}
	if out.Metadata.Attempts > 0 {
		return fmt.Errorf("the call was refused with %s but reached the plugin", want)
	}
	e := tool.AsError(err)
	d.notef("%s: %s", e.Code, output.Shorten(output.Message(e), 76))
	return nil
}

// kill ends a plugin during a call. The plugin is suspended first, so that the
// call is still running when the signal comes.
func (d *demo) kill(ctx context.Context, victim, other *sample) error {
	ctx, cancel := context.WithTimeout(ctx, crashTimeout)
	defer cancel()
	if err := stopProcess(victim.pid); err != nil {
		return fmt.Errorf("plugin %s (pid %d) cannot be suspended: %w", victim.plugin, victim.pid, err)
	}
	kill := sync.OnceFunc(func() { killProcess(victim.pid) })
	defer kill() // it must not stay suspended
	ended := make(chan error, 1)
	go func() {
		_, err := d.call(ctx, victim.tool, victim.args)
		ended <- err
	}()
	look := time.NewTicker(time.Millisecond)
	defer look.Stop()
	for calls := 0; calls == 0; <-look.C {
		s, _ := session.Status(d.host.Host.Plugins(), victim.plugin)
		if calls = s.Calls; ctx.Err() != nil {
			return fmt.Errorf("the call to %s did not begin: %w", victim.plugin, ctx.Err())
		}
	}
	if other != nil {
		begin := time.Now()
		if _, err := d.call(ctx, other.tool, other.args); err != nil {
			return fmt.Errorf("while %s was suspended, %s did not answer: %w", victim.plugin, other.plugin, err)
		}
		d.notef("%s answered in %s while a call to %s hung", other.plugin, output.Milliseconds(time.Since(begin)), victim.plugin)
	}
	killed := time.Now()
	kill()
	err := <-ended
	if tool.CodeOf(err) != tool.CodeCrashed {
		return fmt.Errorf("plugin %s was killed, but its caller got %w", victim.plugin, err)
	}
	d.notef("SIGKILL to %s (pid %d) while it ran %s", victim.plugin, victim.pid, victim.tool)
	d.notef("%s later its caller had the error", output.Milliseconds(time.Since(killed)))
	d.notef("%s: %v", tool.CodeOf(err), err)
	return nil
}

func (d *demo) shutdown(ctx context.Context, victim *sample) error {
	pids := map[int]bool{}
	if victim != nil {
		pids[victim.pid] = true
	}
	for _, s := range d.host.Host.Plugins() {
		pids[s.PID] = true
	}
	delete(pids, 0)
	if err := d.host.Close(ctx); err != nil {
		return err
	}
	for pid := range pids {
		if processAlive(pid) {
			return fmt.Errorf("process %d is still there", pid)
		}
	}
	d.notef("%d processes are gone, and their sockets", len(pids))
	return nil
}

// call makes a call that has to work.
func (d *demo) call(ctx context.Context, name, args string) (tool.Result, error) {
	res, err := d.reader.Execute(ctx, tool.Call{Name: name, Arguments: []byte(args)})
	if err == nil && res.IsError {
		err = errors.New(res.Text())
	}
	return res, err
}

func (d *demo) succeeds(ctx context.Context, name, args string) bool {
	_, err := d.call(ctx, name, args)
	return err == nil
}
