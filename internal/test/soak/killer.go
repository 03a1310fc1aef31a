package main

import (
	"context"
	"math/rand/v2"
	"os"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
)

// killer ends plugins from outside, as the system does when memory runs out. A
// plugin could not do it itself: in a PID namespace it is process 1, which no signal
// of its own reaches.
type killer struct {
	hosts []*busy
	every time.Duration // the mean pause
	kills atomic.Int64
	last  map[string]int // which run of each plugin was killed last
}

// work kills until ctx ends.
func (k *killer) work(ctx context.Context) {
	for {
		t := time.NewTimer(time.Duration(rand.ExpFloat64() * float64(k.every))) //nolint:gosec // no secret
		select {
		case <-t.C:
			k.kill()
		case <-ctx.Done():
			t.Stop()
			return
		}
	}
}

// kill ends a plugin that is chosen at random, if it runs. Each run counts once.
func (k *killer) kill() {
	h := k.hosts[rand.IntN(len(k.hosts))] //nolint:gosec // no secret
	n := rand.IntN(len(h.names))          //nolint:gosec // no secret
	s := h.Plugins()[n]
	if s.State != plugin.Ready || s.PID == 0 || k.last[s.Name] == s.Starts {
		return
	}
	process, err := os.FindProcess(s.PID)
	if err != nil {
		return
	}
	defer func() { _ = process.Release() }()
	// The number may have become another's in between. If it is the plugin's still,
	// what was found is the plugin.
	if now := h.Plugins()[n]; now.PID != s.PID || now.Starts != s.Starts {
		return
	}
	if process.Kill() == nil {
		k.last[s.Name] = s.Starts
		k.kills.Add(1)
	}
}
