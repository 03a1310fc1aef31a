package pluginsdk

import (
	"context"
	"errors"
	"log/slog"
	"os"
	"os/signal"
	"sync"
	"sync/atomic"
	"syscall"
	"time"

	"github.com/toolhost/toolhost/internal/wire"
)

const (
	// shutdownTime is how long Shutdown has, if the host does not say.
	shutdownTime = 5 * time.Second
	// lateShutdownTime is how long it has when a host that does not know it waits for the process.
	lateShutdownTime = time.Second
	// terminated is the exit status after SIGTERM, as shells have it.
	terminated = 128 + 15
)

// lifecycle sets what a server does for the author's functions. The caller calls finish when the
// host has asked the plugin to exit. Signals says that nothing else takes SIGTERM.
func (p *Plugin) lifecycle(server *wire.Server, signals bool) (finish func()) {
	if p.SessionEnded != nil {
		server.OnSessionEnded = p.SessionEnded
		server.About.Features = append(server.About.Features, wire.FeatureSessionEnd)
	}
	if p.Health != nil {
		server.OnHealth = oneAtATime(p.Health)
		server.About.Features = append(server.About.Features, wire.FeatureHealth)
	}
	if p.Shutdown == nil {
		return func() {}
	}
	var once sync.Once
	shutdown := func(ctx context.Context) (err error) {
		once.Do(func() { err = p.Shutdown(ctx) })
		return err
	}
	server.OnShutdown = shutdown
	server.About.Features = append(server.About.Features, wire.FeatureShutdown)
	within := func(limit time.Duration) {
		ctx, cancel := context.WithTimeout(context.Background(), limit)
		defer cancel()
		if err := shutdown(ctx); err != nil {
			slog.Error("the plugin did not shut down in good order: " + err.Error())
		}
	}
	finish = func() {
		limit := time.AfterFunc(lateShutdownTime, func() { os.Exit(0) })
		defer limit.Stop()
		within(lateShutdownTime)
	}
	if !signals {
		return finish
	}
	told := make(chan os.Signal, 1)
	signal.Notify(told, syscall.SIGTERM)
	go func() {
		<-told
		signal.Reset(syscall.SIGTERM) // a second one ends the process
		limit := time.AfterFunc(shutdownTime, func() { os.Exit(terminated) })
		within(shutdownTime)
		limit.Stop()
		os.Exit(terminated)
	}()
	return finish
}

var errStillChecking = errors.New("the health check before has not ended")

// oneAtATime returns a check that does not begin while another runs: one that hangs, though its
// context has ended, does not become many.
func oneAtATime(check func(context.Context) error) func(context.Context) error {
	var running atomic.Bool
	return func(ctx context.Context) error {
		if running.Swap(true) {
			return errStillChecking
		}
		defer running.Store(false)
		return check(ctx)
	}
}
