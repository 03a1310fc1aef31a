package main

import (
	"context"
	"fmt"
	"os"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/cgroup"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// attack is a way for a plugin to do harm: a call of a tool that never ends, or one
// call after the other. What the tool does is in child/attacker.
type attack struct {
	// name is the plugin's, the tool's, and what is behind neighbour_p99_ in
	// latest.json.
	name string
	// about says what the plugin does.
	about string
	// codes are how its calls may end, "" being success. None: a call goes on until
	// the attack is over.
	codes []tool.Code
	// patience bounds each call; 0: nothing does.
	patience time.Duration
	// stopped: the process is stopped during the call.
	stopped bool
	// dies: the process ends by itself.
	dies bool
	// burns: it uses processors and nothing else, which no host can hinder without a
	// quota. It has no target.
	burns bool
	// sandbox is what the process may have.
	sandbox plugin.Sandbox
	// moves: it moves as much data as it can, which takes CPU of both processes.
	moves bool
}

func attacks() []attack {
	all := []attack{
		{name: "stderr_lines", about: "writes lines to standard error for ever"},
		{name: "stderr_bytes", about: "writes to standard error for ever, and no line's end"},
		{name: "stderr_json", about: "writes JSON log lines of the wrong types for ever"},
		{name: "stdout", about: "writes to standard output for ever"},
		{name: "log", about: "sends log records for ever"},
		{name: "progress", about: "reports progress for ever"},
		{
			name: "gigabyte", about: "sends results of 1 GiB, each refused, and does not stop when it is told", moves: true, dies: true,
			codes: []tool.Code{tool.CodeResourceExhausted, tool.CodeInvalidResult, tool.CodeCrashed, tool.CodeUnavailable},
		},
		{name: "results_8m", about: "gives one result of 8 MiB after the other", codes: []tool.Code{""}, moves: true},
		{name: "crash", about: "exits in each call", codes: []tool.Code{tool.CodeCrashed, tool.CodeUnavailable}, dies: true},
		{name: "hang", about: "ignores that each call is cancelled after 50 ms", codes: []tool.Code{tool.CodeDeadlineExceeded}, patience: 50 * time.Millisecond},
		{name: "stop", about: "is stopped in a call", stopped: true},
		{name: "cpu", about: "computes on all processors", burns: true},
	}
	if hasQuota() {
		all = append(all, attack{name: "cpu_quota", about: "computes on all processors, with `cpu: 0.5`", sandbox: plugin.Sandbox{CPU: .5}})
	}
	return all
}

// hasQuota reports whether a plugin can be kept from processors here.
func hasQuota() bool {
	_, err := cgroup.Find().By(cgroup.CPU)
	return err == nil
}

// note is what has to be known of an attack to read its figures.
func (a attack) note() string {
	switch {
	case a.burns:
		return "burns CPU: no target"
	case a.moves:
		return "moves much data"
	}
	return ""
}

// begin starts the attack. What it returns ends it, and tells why it was none.
func (a attack) begin(ctx context.Context, h *embedded) (stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	reported := make(chan struct{})
	report := sync.OnceFunc(func() { close(reported) })
	ended := make(chan error, 1)
	go func() { ended <- a.run(tool.WithProgress(ctx, func(tool.Progress) { report() }), h) }()
	stop = func() error {
		cancel()
		err := <-ended
		if pid := h.pid(a.name); pid > 0 { // it may not listen any more
			if p, found := os.FindProcess(pid); found == nil {
				_ = p.Kill()
				_ = p.Release()
			}
		}
		return err
	}
	if !a.stopped {
		return stop, nil
	}
	select {
	case <-reported:
		err = freeze(h.pid(a.name))
	case err = <-ended:
		ended <- err
	}
	if err != nil {
		_ = stop()
		return nil, err
	}
	return stop, nil
}

// refusedPause is how long the caller of a plugin that is unavailable waits.
const refusedPause = 5 * time.Millisecond

// run calls the tool until ctx ends.
func (a attack) run(ctx context.Context, h *embedded) error {
	for {
		err := a.once(ctx, h)
		code := tool.CodeOf(err)
		switch {
		case ctx.Err() != nil: // that is why it ended
			return nil //nolint:nilerr // see there
		case !slices.Contains(a.codes, code):
			return fmt.Errorf("the plugin's call ended with %v", err) //nolint:errorlint // it may be none
		case code == tool.CodeUnavailable:
			select {
			case <-time.After(refusedPause):
			case <-ctx.Done():
			}
		}
	}
}

func (a attack) once(ctx context.Context, h *embedded) error {
	if a.patience > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, a.patience)
		defer cancel()
	}
	_, err := h.call(ctx, a.name, []byte("{}"))
	return err
}
