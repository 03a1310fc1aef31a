package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"path/filepath"
	"runtime/pprof"
	"sync"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// breaker lets plugins be killed every few hundred milliseconds, which the defaults
// take for broken ones: a run counts as a good one after a tenth of a second. What
// is killed earlier, again and again, still meets pauses and a short quarantine.
func breaker() plugin.RestartPolicy {
	return plugin.RestartPolicy{
		Free: 3, Backoff: 10 * time.Millisecond, MaxBackoff: 200 * time.Millisecond,
		Quarantine: 10, Cooldown: 500 * time.Millisecond, MaxCooldown: time.Second,
		Lasting: 100 * time.Millisecond,
	}
}

// busy is a host whose plugins are killed.
type busy struct {
	*host.Host
	carrier plugin.Carrier
	root    string
	names   []string // of its plugins, sorted
}

func (b *busy) randomPlugin() string { return b.names[rand.IntN(len(b.names))] } //nolint:gosec // no secret

// soak is a run.
type soak struct {
	settings
	dir      string // everything's
	progress io.Writer
	begin    time.Time
}

// longest bounds a run that does not get as many calls or kills as it must.
const longest = time.Hour

// run soaks, and judges.
func run(ctx context.Context, s settings, progress io.Writer) (*Report, error) {
	dir, err := os.MkdirTemp("", "soak-")
	if err != nil {
		return nil, err
	}
	defer func() { _ = os.RemoveAll(dir) }()
	k := &soak{settings: s, dir: dir, progress: progress}
	// What the runtime keeps after its first use is not a leak, so it is used before the
	// first measurement.
	k.say("warming up")
	warm := s
	warm.duration, warm.every = 2*time.Second, 200*time.Millisecond
	if _, err := (&soak{settings: warm, dir: filepath.Join(dir, "w"), progress: io.Discard}).round(ctx); err != nil {
		return nil, err
	}
	before := calm()
	k.dir = filepath.Join(dir, "r")
	r, err := k.round(ctx)
	if err != nil {
		return nil, err
	}
	r.Before, r.After = before, settle(before)
	r.judge(s)
	if r.After.Goroutines > before.Goroutines {
		_ = pprof.Lookup("goroutine").WriteTo(progress, 1)
	}
	return r, nil
}

// round opens the hosts, keeps them busy, closes them, and compares the ledgers.
func (k *soak) round(ctx context.Context) (_ *Report, err error) {
	hosts, err := k.open(ctx)
	defer func() {
		for _, h := range hosts {
			err = errors.Join(err, h.Close(context.Background()))
		}
	}()
	if err != nil {
		return nil, err
	}
	k.begin = time.Now()
	r := &Report{Carriers: k.carriers, Plugins: k.plugins, Callers: k.callers, Every: tool.Duration(k.every), Breaker: thresholds(breaker())}
	ctx, cancel := context.WithTimeout(ctx, cmp.Or(k.duration, longest))
	defer cancel()
	callers, killer := k.busy(ctx, cancel, hosts)
	r.Took = tool.Duration(time.Since(k.begin))
	r.Kills = int(killer.kills.Load())
	for _, h := range hosts {
		for _, s := range h.Plugins() {
			r.Starts += s.Starts
		}
	}
	r.Busy = measure()
	closing := time.Now()
	for _, h := range hosts {
		if err := h.Close(context.Background()); err != nil {
			return nil, err
		}
	}
	r.CloseTook = tool.Duration(time.Since(closing))
	r.Left = k.left()
	ran := runs{}
	for _, h := range hosts {
		for _, name := range h.names {
			if err := ran.read(ledgerOf(h.root, name)); err != nil {
				return nil, err
			}
		}
	}
	for _, c := range callers {
		r.add(c, ran)
	}
	return r, nil
}

// open makes a host for each carrier. Each plugin is this program, under a name of
// its own. Those that were opened are returned in any case.
func (k *soak) open(ctx context.Context) (hosts []*busy, err error) {
	if err := os.MkdirAll(k.sockets(), 0o700); err != nil {
		return nil, err
	}
	before, was := os.LookupEnv("TMPDIR")
	if err := os.Setenv("TMPDIR", k.sockets()); err != nil { // so that what is left can be seen
		return nil, err
	}
	defer func() { // each host has made its directory by then
		if !was {
			err = errors.Join(err, os.Unsetenv("TMPDIR"))
		} else {
			err = errors.Join(err, os.Setenv("TMPDIR", before))
		}
	}()
	for _, carrier := range k.carriers {
		h := &busy{carrier: carrier, root: filepath.Join(k.dir, string(carrier))}
		plugins := filepath.Join(h.root, "plugins")
		if err := os.MkdirAll(plugins, 0o700); err != nil {
			return hosts, err
		}
		for i := range k.plugins {
			h.names = append(h.names, fmt.Sprintf("%s-%02d", carrier, i))
			if err := install(filepath.Join(plugins, h.names[i])); err != nil {
				return hosts, err
			}
		}
		h.Host, err = host.New(host.WithRoot(h.root), host.WithDefaults(func(all *plugin.Settings) {
			all.Carrier = carrier
			all.Restart = breaker()
		}))
		if err != nil {
			return hosts, err
		}
		hosts = append(hosts, h)
		if _, err := h.Load(ctx, plugins); err != nil {
			return hosts, err
		}
		for _, s := range h.Plugins() {
			if s.Carrier != carrier {
				return hosts, fmt.Errorf("%s is spoken to on %q", s.Name, s.Carrier)
			}
		}
	}
	return hosts, nil
}

// sockets is where the hosts make the directories for their sockets.
func (k *soak) sockets() string { return filepath.Join(k.dir, "s") }

// left are the hosts' directories that are still there.
func (k *soak) left() []string {
	found, _ := filepath.Glob(filepath.Join(k.sockets(), "*")) // it only fails for a pattern
	for i := range found {
		found[i] = filepath.Base(found[i])
	}
	return found
}

// busy makes calls and kills until ctx ends or there were enough, and waits for all
// calls, but not for ever.
func (k *soak) busy(ctx context.Context, enough func(), hosts []*busy) ([]*caller, *killer) {
	var all atomic.Int64
	var killing, calling sync.WaitGroup
	killer := &killer{hosts: hosts, every: k.every, last: map[string]int{}}
	killing.Go(func() { killer.work(ctx) })
	callers := make([]*caller, k.callers)
	for i := range callers {
		callers[i] = newCaller(i, hosts, &all)
		calling.Go(func() { callers[i].work(ctx) })
	}
	tick := time.NewTicker(100 * time.Millisecond)
	defer tick.Stop()
	for said := time.Now(); ctx.Err() == nil; {
		select {
		case <-tick.C:
		case <-ctx.Done():
		}
		calls, kills := all.Load(), killer.kills.Load()
		if time.Since(said) >= 5*time.Second {
			said = time.Now()
			k.say("%d calls, %d kills", calls, kills)
		}
		if k.duration == 0 && calls >= int64(k.calls) && kills >= int64(k.kills) {
			enough()
		}
	}
	killing.Wait()
	k.say("waiting for the last calls")
	done := make(chan struct{})
	go func() {
		calling.Wait()
		close(done)
	}()
	select {
	case <-done:
	case <-time.After(2 * patience):
		_ = pprof.Lookup("goroutine").WriteTo(k.progress, 1)
	}
	return callers, killer
}

func (k *soak) say(format string, args ...any) {
	took := time.Duration(0)
	if !k.begin.IsZero() {
		took = time.Since(k.begin).Round(time.Second)
	}
	_, _ = fmt.Fprintf(k.progress, "%6v  %s\n", took, fmt.Sprintf(format, args...))
}

// install puts this program into a plugin directory.
func install(path string) error {
	self, err := os.Executable()
	if err != nil {
		return err
	}
	if os.Link(self, path) == nil {
		return nil
	}
	program, err := os.ReadFile(self)
	if err != nil {
		return err
	}
	return os.WriteFile(path, program, 0o700) //nolint:gosec // a program
}
