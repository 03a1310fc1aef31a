package dev

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/internal/wire"
)

// maxReattach bounds the text that says where a plugin runs.
const maxReattach = 64 << 10

const reattachHint = "start the plugin with " + wire.DebugVariable + "=1 and use the line that it prints"

// Reattach returns the project of a plugin that its author has started, of which text, the value of
// TOOLHOST_REATTACH, says where it listens. Nothing is built.
//
// # Errors
//
// [*exit.Error] if the text names no plugin, or more than one.
func Reattach(text string) (*Project, error) {
	var said map[string]wire.Reattach
	if len(text) > maxReattach {
		return nil, exit.Usage(fmt.Sprintf("%s has more than %d KiB", wire.ReattachVariable, maxReattach>>10), reattachHint)
	}
	if err := json.Unmarshal([]byte(text), &said); err != nil {
		return nil, exit.Usage(fmt.Sprintf("%s cannot be read: %s", wire.ReattachVariable, sanitize.Line(err.Error(), 200)), reattachHint)
	}
	if len(said) != 1 {
		return nil, exit.Usage(fmt.Sprintf("%s names %d plugins, and toolhost dev run serves one", wire.ReattachVariable, len(said)), reattachHint)
	}
	dir, err := os.Getwd()
	if err != nil {
		return nil, exit.With(exit.Failed, err)
	}
	p := &Project{Dir: dir}
	for name, at := range said {
		p.Name, p.running = nameFor(name), &at
	}
	return p, nil
}

// reattach serves the plugin that runs already, until its process has ended.
func (r *runner) reattach(ctx context.Context) error {
	began, at, name := time.Now(), *r.project.running, r.project.Name
	loaded, err := r.session.Settings().Load()
	if err != nil {
		return err
	}
	gone := make(chan struct{})
	s := plugin.Server{
		Name: name, Kind: pluginrun.KindRunning, Path: at.Addr.String, Settings: loaded.Plugins(name),
		Identity:  fmt.Sprintf("running %d %s", at.Pid, at.Addr.String),
		Connector: &pluginrun.Running{At: at, Lost: sync.OnceFunc(func() { close(gone) })},
	}
	// Whoever stops at a breakpoint takes longer than any limit.
	s.Settings.CallTimeout, s.Settings.MaxTimeout, s.Settings.IdleTimeout = 0, 0, 0
	if _, err = r.host.Mount(ctx, s); err == nil { // which starts nothing if the tools are remembered
		err = r.host.StartPlugin(ctx, name)
	}
	r.follower.follow()
	if ctx.Err() != nil {
		return nil //nolint:nilerr // that is how a run ends
	}
	if err != nil {
		for _, fault := range session.Faults(err) {
			failure := failureOf(fault)
			failure.Hint = reattachHint
			r.teller.tell(Event{Kind: NotServed, Plugin: name, Error: failure})
		}
		return unserved(name, "the plugin that runs cannot be used")
	}
	r.serving(began, at.Pid)
	if err := r.call(ctx); r.Once {
		return ended(ctx, err)
	}
	select {
	case <-ctx.Done():
	case <-gone:
		r.teller.tell(Event{Kind: Gone, Plugin: name, PID: at.Pid, Text: fmt.Sprintf("the process %d has ended, or listens no more", at.Pid)})
	}
	return nil
}
