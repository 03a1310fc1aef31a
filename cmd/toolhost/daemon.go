package main

import (
	"context"
	"errors"
	"os"
	"runtime/debug"
	"slices"
	"sync"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// daemon is a host that other commands use.
type daemon struct {
	host     *local
	identity control.Identity
	since    time.Time
	policy   callerPolicy // of every caller
	log      hclog.Logger
	// reload takes what has changed into force, all of it or nothing; sync does so for
	// one plugin. Their errors are told, and end nothing.
	reload func(context.Context, reading) error
	sync   func(ctx context.Context, plugin string) error

	reloading sync.Mutex // one at a time
	mu        sync.Mutex
	faults    []*tool.Error
}

var _ control.Service = (*daemon)(nil)

// run waits for the end of the daemon, and reloads whenever it is told to, or the
// configuration file has changed. It gives the error of a socket that failed.
func (d *daemon) run(ctx context.Context, hangUp <-chan os.Signal, changed <-chan struct{}, served <-chan error) error {
	if os.Getenv("GOGC") == "" {
		debug.SetGCPercent(100) // what is rare in a command, a daemon does for good
	}
	for {
		select {
		case <-ctx.Done():
			return nil
		case err := <-served:
			return tool.Errorf(tool.CodeUnavailable, "the socket failed: %w", err)
		case <-hangUp:
			_ = d.Reload(ctx) // it is in the log
		case <-changed:
			_ = d.takeOver(ctx, aChange)
		}
	}
}

// follow keeps the plugins those that are in the directories. The function that comes
// back ends that. Of default directories, those count that are there when it begins.
func (d *daemon) follow(dirs pluginDirs) (stop func()) {
	all := dirs.found()
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan struct{})
	go func() {
		defer close(done)
		if err := d.host.Follow(ctx, all...); err != nil {
			d.log.Warn("changes in the plugin directories are noticed late", "error", err)
		}
	}()
	return func() {
		cancel()
		<-done
	}
}

// close ends the plugins.
func (d *daemon) close(ctx context.Context) error { return d.host.close(ctx) }

// State implements [control.Service].
func (d *daemon) State() control.State {
	s := control.State{
		Version: host.Version, PID: os.Getpid(), Since: d.since, Identity: d.inForce(),
		Tools: d.host.Len(), Plugins: d.host.Plugins(), Faults: control.Problems(d.known()),
	}
	for _, skipped := range d.host.Skipped() {
		s.Skipped = append(s.Skipped, control.Skipped(skipped))
	}
	return s
}

// Tools implements [control.Service].
func (d *daemon) Tools(f host.Filter) []host.Tool { return d.host.visible(f) }

// Get implements [control.Service].
func (d *daemon) Get(name string) (host.Tool, bool) { return d.host.seen(name) }

// Call implements [control.Service].
func (d *daemon) Call(ctx context.Context, c control.Call, asked policy.Approver) control.Answer {
	p := d.policy
	p.facts = d.host.cli.get()
	return callAs(ctx, d.host.Host, c, p, asked)
}

// RestartPlugin implements [control.Service].
func (d *daemon) RestartPlugin(ctx context.Context, name string) error {
	err := d.host.RestartPlugin(ctx, name)
	d.note(err, func(known *tool.Error) bool { return known.Plugin == name })
	return err
}

// ApplyPlugin implements [control.Service].
func (d *daemon) ApplyPlugin(ctx context.Context, name string) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	err := d.sync(ctx, name)
	d.note(err, func(known *tool.Error) bool { return known.Plugin == name })
	return err
}

// Reload implements [control.Service].
func (d *daemon) Reload(ctx context.Context) error { return d.takeOver(ctx, aReload) }

func (d *daemon) takeOver(ctx context.Context, on reading) error {
	d.reloading.Lock()
	defer d.reloading.Unlock()
	err := d.reload(ctx, on)
	d.note(err, func(known *tool.Error) bool { return known.Plugin == "" })
	for _, fault := range flatten(err) {
		d.log.Warn("reload", "fault", fault)
	}
	d.log.Info("reload has ended", "tools", d.host.Len())
	return err
}

// note adds the faults of err to those that are known, without those that it takes the
// place of, or tells anew.
func (d *daemon) note(err error, replaced func(*tool.Error) bool) {
	more := flatten(err)
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = slices.DeleteFunc(slices.Clone(d.faults), func(known *tool.Error) bool {
		again := func(e *tool.Error) bool { return e.Plugin == known.Plugin && e.Tool == known.Tool }
		return replaced(known) || slices.ContainsFunc(more, again)
	})
	d.faults = append(d.faults, more...)
}

// known are the faults that are still there: a plugin that was refused once may serve
// by now, and a tool have found its way.
func (d *daemon) known() []*tool.Error {
	plugins := d.host.Plugins()
	d.mu.Lock()
	defer d.mu.Unlock()
	d.faults = slices.DeleteFunc(slices.Clone(d.faults), func(e *tool.Error) bool {
		s, loaded := statusOf(plugins, e.Plugin)
		switch {
		case e.Plugin == "": // of a directory
			return false
		case e.Tool != "":
			t, ok := d.host.Get(e.Tool)
			return ok && t.Owner == e.Plugin
		}
		// One whose name is taken is not loaded, its namesake is.
		return loaded && s.State != plugin.Refused && !errors.Is(e, tool.ErrAlreadyExists)
	})
	return d.faults
}
