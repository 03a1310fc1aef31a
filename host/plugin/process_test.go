//go:build unix

package plugin

import (
	"context"
	"errors"
	"io"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"
)

// A process that is killed and does not end, as a file system holds it, is not
// waited for.
func TestUnkillableProcessIsGivenUp(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		p := reading(io.Discard)
		p.setPID(1 << 30) // nobody's
		begin := time.Now()
		p.kill()
		<-p.exited
		if took := time.Since(begin); took != killGrace {
			t.Errorf("waited %v, want %v", took, killGrace)
		}
		if !p.exit.Stuck || !strings.Contains(p.exit.Error(), "does not let it end") {
			t.Errorf("ended with %v", p.exit)
		}
	})
}

// A fork that takes too long is not waited for, and its process is ended as soon as
// there is one.
func TestSlowForkIsGivenUp(t *testing.T) { //nolint:paralleltest // it holds up everybody's forks
	begun, release := make(chan struct{}), make(chan struct{})
	held := make(chan error)
	go func() {
		held <- processes.start(func() error { close(begun); <-release; return io.EOF })
	}()
	<-begun
	p := newProcess(Candidate{Name: "slow", Path: "/bin/sh"}, Config{Root: t.TempDir(), Args: []string{"-c", "exec sleep 1000"}}.withDefaults())
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	if err := p.start(ctx, os.Environ()); !errors.Is(err, errNotForked) || p.endedItself() {
		t.Errorf("got %v", err)
	}
	<-p.exited
	close(release)
	if err := <-held; !errors.Is(err, io.EOF) {
		t.Error(err)
	}
	<-p.gone
	if n := p.number(); n != 0 {
		t.Errorf("process %d is there", n)
	}
}
