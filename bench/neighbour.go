package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
)

var (
	unattacked = figure{"neighbour_quiet_p99_us", "small call, p99, next to an idle plugin, µs"}
	attacked   = figure{"neighbour_attacked_p99_us", "small call, p99, next to a plugin that does harm, µs"}
	attackCPU  = figure{"neighbour_attacker_cores", "CPU that the plugin which does harm uses meanwhile, cores"}

	attackFigures = []figure{unattacked, attacked, attackCPU}
)

// How long a neighbour is called in each round, before an attack and under it, and
// in how many rounds: there are many attacks. What hardly varies, or takes long, has as many.
const (
	quietLength   = 300 * time.Millisecond
	attackLength  = 500 * time.Millisecond
	attackRounds  = 3
	healthy       = "bench"
	leastQuantile = 10 // calls
)

// neighbour is a small call of a healthy plugin while another plugin of the same
// host does harm, against the same call right before, with that plugin idle.
func neighbour() measurement {
	m := measurement{
		name: "neighbour",
		start: func(_ context.Context, b *bench) error {
			for _, a := range attacks() {
				dir, err := b.plugins(attackDir(a), "hosted", healthy)
				if err != nil {
					return err
				}
				if err := os.Link(b.binary("attacker"), filepath.Join(dir, a.name)); err != nil {
					return err
				}
			}
			return nil
		},
		measure: func(ctx context.Context, b *bench) error {
			if b.round >= attackRounds {
				return nil
			}
			all := attacks()
			for i := range all {
				a := all[(b.round*len(all)/attackRounds+i)%len(all)]
				if err := b.measureNeighbour(ctx, a); err != nil {
					return fmt.Errorf("%s: %w", a.name, err)
				}
			}
			return nil
		},
		keys: []key{{
			name: "neighbour_p99_worst", target: 2,
			about: "a small call next to a plugin that does harm, its p99 against its quiet p99, socket: " +
				"the worst of those with a target",
			value: worst,
		}},
	}
	for _, a := range attacks() {
		m.keys = append(m.keys, key{
			name: "neighbour_p99_" + a.name, about: "in the table above",
			target: 2, shown: a.burns, value: a.ratio,
		})
	}
	return m
}

func attackDir(a attack) string { return "neighbour-" + a.name }

func (a attack) ratio(r *results) float64 { return r.over(attacked, a.name, unattacked, a.name) }

// worst is that of the attacks which do not just burn CPU: no host can keep
// processors free without a quota.
func worst(r *results) float64 {
	var most float64
	for _, a := range attacks() {
		if !a.burns {
			most = max(most, a.ratio(r)) // NaN wins
		}
	}
	return most
}

// measureNeighbour takes both figures in a host of their own, so that an attack
// finds nothing used up by the one before.
func (b *bench) measureNeighbour(ctx context.Context, a attack) error {
	h, err := openHost(ctx, plugin.Socket, filepath.Join(b.dir, attackDir(a)),
		host.WithDefaults(func(all *plugin.Settings) { all.Restart = plugin.RestartPolicy{} }), // the default
		host.WithPluginSettings(func(name string, s *plugin.Settings) {
			if name == a.name {
				s.Sandbox = a.sandbox
			}
		}),
		host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: io.Discard, Level: hclog.Info})))
	if err != nil {
		return err
	}
	defer h.end()
	if err := h.on(plugin.Socket); err != nil {
		return err
	}
	if _, err := b.neighbourP99(ctx, h, quietLength/10); err != nil { // warms up
		return err
	}
	quiet, err := b.neighbourP99(ctx, h, quietLength)
	if err != nil {
		return err
	}
	pid := h.pid(a.name)
	before, err := cpuTime(pid)
	if err != nil {
		return err
	}
	stop, err := a.begin(ctx, h)
	if err != nil {
		return err
	}
	begin := time.Now()
	bad, err := b.neighbourP99(ctx, h, attackLength)
	elapsed := time.Since(begin)
	same := h.pid(a.name) == pid
	var after time.Duration
	if err == nil && same {
		after, err = cpuTime(pid)
	}
	if failed := stop(); failed != nil {
		return failed
	}
	switch {
	case err != nil:
		return err
	case same:
		b.add(attackCPU, a.name, (after-before).Seconds()/elapsed.Seconds())
	case !a.dies:
		return fmt.Errorf("process %d of the plugin has ended", pid)
	}
	b.add(unattacked, a.name, quiet)
	b.add(attacked, a.name, bad)
	return nil
}

// neighbourP99 calls the healthy plugin for a while, as one caller.
func (b *bench) neighbourP99(ctx context.Context, h *embedded, length time.Duration) (float64, error) {
	runtime.GC()
	length = time.Duration(float64(length) * b.sizes.slot)
	d, err := pace(ctx, []call{h.call}, slot{job: work.Small(), callers: 1, length: length, least: leastQuantile})
	if err != nil {
		return 0, fmt.Errorf("the healthy plugin: %w", err)
	}
	return d.p99(), nil
}

// pid is a plugin's process; 0: it has none.
func (h *embedded) pid(name string) int {
	for _, p := range h.Plugins() {
		if p.Name == name {
			return p.PID
		}
	}
	return 0
}
