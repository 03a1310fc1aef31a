package main

import (
	"context"
	"fmt"
	"os"
	"time"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	started = figure{"start_ms", "from a start of a plugin to its first answer, ms"}
	called  = figure{"sandbox_p50_us", "p50, one caller, socket, in a sandbox and in none, µs"}
)

// The names of both, and how often they take turns in a round.
const (
	confined     = "confined"
	unconfined   = "unconfined"
	sandboxTurns = 6
)

// settling is how long the kernel has to take down the namespaces of a process that has ended, which
// is not part of a start.
const settling = 20 * time.Millisecond

// sandbox is what confinement costs: a plugin with a typical profile, which has the workspace and
// nothing else, against the same without a sandbox.
func sandbox() measurement {
	hosts := map[string]*embedded{}
	return measurement{
		name: "sandbox",
		start: func(ctx context.Context, b *bench) error {
			for name, s := range map[string]plugin.Sandbox{
				confined:   {Level: plugin.Strict, Read: []string{}, Write: []string{tool.Workspace}, Net: []string{}, Exec: []string{}},
				unconfined: {Level: plugin.NoSandbox},
			} {
				dir, err := b.plugins(name, "hosted", "bench")
				if err != nil {
					return err
				}
				root, err := os.MkdirTemp(b.dir, "workspace-")
				if err != nil {
					return err
				}
				if hosts[name], err = openHost(ctx, plugin.Socket, dir, host.WithRoot(root), host.WithDefaults(func(all *plugin.Settings) {
					all.Sandbox = s
				})); err != nil {
					return err
				}
				b.cleanup(hosts[name].end)
			}
			return nil
		},
		measure: func(ctx context.Context, b *bench) error {
			if err := b.alternate(started,
				event{confined, func() (float64, error) { return startAgain(ctx, hosts[confined]) }},
				event{unconfined, func() (float64, error) { return startAgain(ctx, hosts[unconfined]) }},
			); err != nil {
				return err
			}
			var p50s [2][]float64
			for turn := range sandboxTurns {
				for i := range p50s {
					n := (i + turn + b.round) % 2
					name := []string{confined, unconfined}[n]
					h := hosts[name]
					d, err := b.drive(ctx, &variant{name: name, pid: h.pid("bench"), dial: shared(h.call)},
						slot{job: work.Small(), callers: 1, length: 100 * time.Millisecond, least: 10})
					if err != nil {
						return err
					}
					p50s[n] = append(p50s[n], d.p50())
				}
			}
			b.add(called, confined, p50s[0]...)
			b.add(called, unconfined, p50s[1]...)
			return nil
		},
		keys: []key{
			{
				name: "sandbox_start", about: "a start to the first answer, in a sandbox with the workspace and nothing else, against no sandbox",
				target: 1.25, value: func(r *results) float64 { return r.ratio(started, confined, unconfined) },
			},
			{
				name: "sandbox_call", about: "p50, one caller, socket, in that sandbox against no sandbox",
				target: 1.03, value: func(r *results) float64 { return r.ratio(called, confined, unconfined) },
			},
		},
	}
}

// startAgain ends a plugin's process, and calls when it has ended.
func startAgain(ctx context.Context, h *embedded) (float64, error) {
	process, err := os.FindProcess(h.pid("bench"))
	if err != nil {
		return 0, err
	}
	if err := process.Kill(); err != nil {
		return 0, fmt.Errorf("killing the plugin: %w", err)
	}
	for h.Plugins()[0].State == plugin.Ready {
		select {
		case <-ctx.Done():
			return 0, ctx.Err()
		case <-time.After(time.Millisecond):
		}
	}
	time.Sleep(settling)
	return timed(func() error { return h.call.do(ctx, work.Unrepeated()) })
}
