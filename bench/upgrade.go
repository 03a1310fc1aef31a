package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/bench/internal/stats"
	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
)

var (
	upgradeTook   = figure{"upgrade_ms", "from a new binary in the directory to its first answer, under 32 callers, ms"}
	upgradeFailed = figure{"upgrade_failed_calls", "calls that failed during the upgrades of a round, retries off"}
	upgradeCalls  = figure{"upgrade_calls", "calls during the upgrades of a round"}
	upgradeQuiet  = figure{"upgrade_quiet_p99_us", "small call of 32 callers, p99, no upgrade, µs"}
	upgradeP99    = figure{"upgrade_p99_us", "small call of 32 callers, p99, while the plugin is upgraded again and again, µs"}

	upgradeCallers = 32
	// upgradesMore is how many upgrades a round has beyond the repeats, so that twelve
	// rounds have more than a hundred.
	upgradesMore = 2
)

// upgrade exchanges a plugin's binary while many call it.
func upgrade() measurement {
	var h *embedded
	var dir string
	sum := func(f figure) func(*results) float64 {
		return func(r *results) (total float64) {
			for _, v := range r.values[f][toolhostStream] {
				total += v
			}
			return total
		}
	}
	return measurement{
		name: "upgrade",
		start: func(ctx context.Context, b *bench) (err error) {
			if dir, err = b.plugins("upgraded", "hosted", "bench"); err != nil {
				return err
			}
			if h, err = openHost(ctx, plugin.Stream, dir, host.WithDefaults(func(all *plugin.Settings) {
				all.Limits.MaxRetries = 0
			})); err != nil {
				return err
			}
			b.cleanup(h.end)
			return nil
		},
		measure: func(ctx context.Context, b *bench) error {
			quiet, err := pace(ctx, slices.Repeat([]call{h.call}, upgradeCallers), slot{
				job: work.Small(), callers: upgradeCallers, length: time.Duration(float64(quietLength) * b.sizes.slot), least: leastQuantile,
			})
			if err != nil {
				return err
			}
			c := callers{call: h.call}
			c.begin(ctx)
			var took []float64
			for range b.sizes.repeats + upgradesMore {
				ms, err := upgradeOnce(ctx, h, b.binary("hosted"), dir)
				if err != nil {
					return errors.Join(err, c.end())
				}
				took = append(took, ms)
			}
			if err := c.end(); err != nil {
				return err
			}
			b.add(upgradeTook, toolhostStream, took...)
			b.add(upgradeFailed, toolhostStream, float64(c.failed.Load()))
			b.add(upgradeCalls, toolhostStream, float64(len(c.latencies)))
			b.add(upgradeQuiet, toolhostStream, quiet.p99())
			b.add(upgradeP99, toolhostStream, microseconds(stats.Quantile(c.latencies, .99)))
			return nil
		},
		keys: []key{
			{name: "upgrade_failed", about: "calls that failed in all upgrades, of a tool that may not be repeated", target: 0, count: true, value: sum(upgradeFailed)},
			{
				name: "upgrade_p99", about: "small call of 32 callers while its plugin is upgraded again and again, p99 against quiet p99", shown: true,
				value: func(r *results) float64 { return r.over(upgradeP99, toolhostStream, upgradeQuiet, toolhostStream) },
			},
		},
	}
}

// callers call a small tool until they are ended.
type callers struct {
	call      call
	failed    atomic.Int64
	first     atomic.Pointer[error]
	stop      context.CancelFunc
	all       sync.WaitGroup
	times     [][]time.Duration
	latencies []time.Duration // sorted, when they have ended
}

func (c *callers) begin(ctx context.Context) {
	ended, stop := context.WithCancel(ctx)
	c.stop = stop
	c.times = make([][]time.Duration, upgradeCallers)
	for i := range c.times {
		c.all.Go(func() {
			for j := work.Small(); ended.Err() == nil; {
				begin := time.Now()
				if err := c.call.do(ctx, j); err != nil {
					c.failed.Add(1)
					c.first.CompareAndSwap(nil, &err)
				}
				c.times[i] = append(c.times[i], time.Since(begin))
			}
		})
	}
}

// end returns the first call's error, where more than a figure has to be told.
func (c *callers) end() error {
	c.stop()
	c.all.Wait()
	c.latencies = slices.Concat(c.times...)
	slices.Sort(c.latencies)
	if err := c.first.Load(); err != nil && len(c.latencies) == int(c.failed.Load()) {
		return fmt.Errorf("every call fails: %w", *err)
	}
	return nil
}

// upgradeOnce puts a copy of the binary in the place of the one that is there, in one
// step, and returns when another process answers.
func upgradeOnce(ctx context.Context, h *embedded, binary, dir string) (float64, error) {
	part := filepath.Join(dir, ".bench")
	if err := copyProgram(binary, part); err != nil {
		return 0, err
	}
	before := h.pid("bench")
	begin := time.Now()
	if err := os.Rename(part, filepath.Join(dir, "bench")); err != nil {
		return 0, err
	}
	err := h.Sync(ctx, dir)
	if err == nil {
		err = h.call.do(ctx, work.Small())
	}
	took := milliseconds(time.Since(begin))
	if after := h.pid("bench"); err == nil && after == before {
		err = fmt.Errorf("process %d still serves after the upgrade", after)
	}
	return took, err
}

func copyProgram(from, to string) (err error) {
	in, err := os.Open(from)
	if err != nil {
		return err
	}
	defer func() { _ = in.Close() }()
	out, err := os.OpenFile(to, os.O_CREATE|os.O_TRUNC|os.O_WRONLY, 0o755) //nolint:gosec // a program
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, out.Close()) }()
	_, err = io.Copy(out, in)
	return err
}
