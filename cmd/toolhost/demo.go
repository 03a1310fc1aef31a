package main

import (
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutDemo = `Show the whole way of a call on the workspace: find the plugins and start them,
list their tools, read a file, describe a symbol, refuse what is not allowed;
then kill a plugin in the middle of a call, see that its caller is told at once
and nobody else notices, and use it again.

It needs the plugin fs or introspection, changes no file, and leaves no process
behind.`

func (a *app) demoCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "demo",
		Short: "Show what the host does, on real plugins and files",
		Long:  aboutDemo,
		Args:  noArguments,
		RunE:  func(cmd *cobra.Command, _ []string) error { return a.demo(cmd.Context()) },
	}
}

// demo is one run: what its steps hand on to each other.
type demo struct {
	app    *app
	notes  []string // of the step under way
	host   *local
	dirs   []string
	caller *host.Session // may read files

	files   *role // a plugin that reads files; nil: there is none
	symbols *role // one that describes Go symbols; nil: there is none
	victim  *role
	other   *role // nil: the victim is alone
}

// role is a plugin that plays a part, and a call to it that works.
type role struct {
	plugin string
	pid    int // of the newest run that was seen
	tool   string
	args   any
}

type step struct {
	title string
	run   func(context.Context) error
}

// stepRecord is what demo --json prints of a step.
type stepRecord struct {
	Step   int      `json:"step"`
	Title  string   `json:"title"`
	OK     bool     `json:"ok"`
	TookMS float64  `json:"took_ms"`
	Detail []string `json:"detail"`
}

func (a *app) demo(ctx context.Context) error {
	d := &demo{app: a}
	steps := []step{
		{"start all plugins, side by side", d.start},
		{"list their tools", d.list},
		{"read a file", d.read},
		{"describe a Go symbol", d.describe},
		{"refuse what is not allowed", d.refuse},
		{"kill a plugin in the middle of a call", d.crash},
		{"call the other plugin", d.survive},
		{"call the killed plugin again", d.restart},
		{"shut down, and leave nothing behind", d.end},
	}
	root, err := filepath.Abs(a.root)
	if err != nil {
		return err
	}
	d.printf("toolhost demo in %s\n\n", sanitize.Text(root))
	begin := time.Now()
	records, err := d.carryOut(ctx, steps)
	if a.json {
		err = errors.Join(err, a.out.json(records))
	}
	if err != nil {
		return err
	}
	d.printf("\nAll %d steps took %s. A plugin was killed in the middle of a call, and only that call failed.\n",
		len(steps), milliseconds(time.Since(begin)))
	return nil
}

// carryOut runs the steps until one fails, and the last one always.
func (d *demo) carryOut(ctx context.Context, steps []step) ([]stepRecord, error) {
	var records []stepRecord
	var failed error
	last := len(steps) - 1
	for i, s := range steps {
		if failed != nil && (i < last || d.host == nil) {
			continue
		}
		record, err := d.step(ctx, i+1, s)
		records = append(records, record)
		failed = errors.Join(failed, stepError(ctx, i+1, err))
	}
	return records, failed
}

// stepError is what a failed step means for the command. That there is nothing
// to start, and that somebody ended it, keep their own exit status.
func stepError(ctx context.Context, n int, err error) error {
	var own *failure
	switch {
	case err == nil, errors.As(err, &own):
		return err
	case ctx.Err() != nil:
		return tool.Errorf(tool.CodeCanceled, "the demo was ended in step %d: %w", n, context.Cause(ctx))
	}
	return &failure{exitFailed, fmt.Errorf("step %d of the demo failed: %w", n, err)}
}

// step runs one step and prints it: the title first, as a step may take its
// time.
func (d *demo) step(ctx context.Context, n int, s step) (stepRecord, error) {
	const titleWidth = 52
	out := d.app.out
	d.notes = []string{}
	d.printf("%s  %-*s", out.colored("1", fmt.Sprintf("%2d", n)), titleWidth, s.title)
	begin := time.Now()
	err := s.run(ctx)
	took := time.Since(begin)
	color, end := "32", ""
	if err != nil {
		color, end = "31", "  failed"
		d.notef("%s", err)
	}
	d.printf("%s\n", out.colored(color, fmt.Sprintf("%12s", milliseconds(took))+end))
	for _, note := range d.notes {
		d.printf("      %s\n", note)
	}
	return stepRecord{n, s.title, err == nil, float64(took.Microseconds()) / 1000, d.notes}, err
}

// printf is for people; programs get the records.
func (d *demo) printf(format string, args ...any) {
	if !d.app.json {
		d.app.out.printf(format, args...)
	}
}

// notef adds a line to what the step under way has seen.
func (d *demo) notef(format string, args ...any) {
	d.notes = append(d.notes, firstLine(fmt.Sprintf(format, args...)))
}
