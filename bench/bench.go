package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"
)

// bench is one run: the children's binaries, the variants that are up, and what
// was measured so far.
type bench struct {
	settings
	*results
	began    time.Time
	progress io.Writer
	dir      string     // temporary; everything is in it
	variants []*variant // all up, in the order of the tables
	chosen   []measurement
	cleanups []func()
}

// closing is how long anything gets to end.
const closing = 10 * time.Second

// open builds the children and starts one of each. Close has to be called where
// there is no error.
func open(ctx context.Context, s settings, progress io.Writer) (*bench, error) {
	b := &bench{settings: s, results: &results{}, began: time.Now(), progress: progress}
	only, err := regexp.Compile(s.only)
	if err != nil {
		return nil, fmt.Errorf("-only: %w", err)
	}
	var names []string
	for _, m := range measurements() {
		names = append(names, m.name)
		if only.MatchString(m.name) {
			b.chosen = append(b.chosen, m)
		}
	}
	if len(b.chosen) == 0 {
		return nil, fmt.Errorf("-only %s: there is no such measurement; there are %s", s.only, strings.Join(names, ", "))
	}
	if err := b.prepare(ctx); err != nil {
		b.close()
		return nil, err
	}
	return b, nil
}

func (b *bench) prepare(ctx context.Context) error {
	var err error
	if b.dir, err = os.MkdirTemp("", "toolhost-bench-"); err != nil {
		return err
	}
	b.cleanup(func() { _ = os.RemoveAll(b.dir) })
	b.logf("building the children")
	if err := b.build(ctx); err != nil {
		return err
	}
	if err := apart(filepath.Join(b.dir, "home")); err != nil {
		return err
	}
	for _, k := range kinds() {
		if err := b.turn(ctx, "starting "+k.name, k.up); err != nil {
			return err
		}
	}
	b.logf("%d variants are up", len(b.variants))
	return nil
}

// apart gives this process, and those that it starts, the home of a user who has just begun: what is remembered of
// many plugins takes time to read, and nothing of these is to be remembered by the user.
func apart(home string) error {
	for _, kind := range []string{"CONFIG", "CACHE", "STATE", "DATA"} {
		if err := os.Unsetenv("XDG_" + kind + "_HOME"); err != nil {
			return err
		}
	}
	return errors.Join(os.Mkdir(home, 0o700), os.Setenv("HOME", home))
}

// build makes all binaries: the children of this module, the command and the tests of host.
func (b *bench) build(ctx context.Context) error {
	ctx, cancel := bounded(ctx, 10*time.Minute, "building")
	defer cancel()
	if err := os.Mkdir(b.binary(""), 0o700); err != nil {
		return err
	}
	_, err := b.goCommand(ctx, "build", "-o", b.binary("toolhost"), "./cmd/toolhost")
	if err == nil {
		_, err = b.goCommand(ctx, "test", "-c", "-vet=off", "-o", b.binary(hostTests), "./host")
	}
	if err == nil {
		err = b.buildChildren(ctx)
	}
	return err
}

// binary is the path of a built program.
func (b *bench) binary(name string) string { return filepath.Join(b.dir, "bin", name) }

// plugins makes a plugin directory of links to one binary.
func (b *bench) plugins(name, binary string, files ...string) (string, error) {
	dir := filepath.Join(b.dir, name)
	if err := os.Mkdir(dir, 0o700); err != nil {
		return "", err
	}
	for _, f := range files {
		if err := os.Link(b.binary(binary), filepath.Join(dir, f)); err != nil {
			return "", err
		}
	}
	return dir, nil
}

// cleanup has f run when the bench is closed, before what was there already. The
// bench goes on without f after a while.
func (b *bench) cleanup(f func()) { b.cleanups = append(b.cleanups, f) }

func (b *bench) close() {
	for _, f := range slices.Backward(b.cleanups) {
		done := make(chan struct{})
		go func() {
			defer close(done)
			f()
		}()
		select {
		case <-done:
		case <-time.After(closing):
			b.logf("something takes more than %v to end; going on without it", closing)
		}
	}
	b.cleanups = nil
}

// measure gives each measurement its turn in every round, and reports.
func (b *bench) measure(ctx context.Context) (*report, error) {
	for _, m := range b.chosen {
		if m.start == nil {
			continue
		}
		if err := b.turn(ctx, "preparing "+m.name, m.start); err != nil {
			return nil, err
		}
	}
	for b.round = range b.rounds {
		for _, m := range b.chosen {
			begin := time.Now()
			if err := b.turn(ctx, "measuring "+m.name, m.measure); err != nil {
				return nil, err
			}
			b.logf("%s: %.1f s", m.name, time.Since(begin).Seconds())
		}
		b.logf("round %d of %d", b.round+1, b.rounds)
		if done := b.round + 1; done >= fewRounds && done < b.rounds && time.Since(b.began) > enough {
			b.logf("that is enough after %v", enough)
			b.rounds = done
			break
		}
	}
	return b.report()
}

// A run that takes longer than it should, as on a busy machine, ends early, but not
// before there are medians worth the name.
const (
	enough    = 7 * time.Minute
	fewRounds = 5
)

// turnLimit is what no turn comes near, unless something hangs.
const turnLimit = 3 * time.Minute

// turn bounds f, and says what it was doing where it fails.
func (b *bench) turn(ctx context.Context, what string, f func(context.Context, *bench) error) error {
	ctx, cancel := bounded(ctx, turnLimit, what)
	defer cancel()
	err := f(ctx, b)
	if cause := context.Cause(ctx); err != nil && cause != nil {
		err = errors.Join(cause, err)
	}
	if err != nil {
		return fmt.Errorf("%s: %w", what, err)
	}
	return nil
}

func (b *bench) logf(format string, args ...any) {
	_, _ = fmt.Fprintf(b.progress, "%6.1fs  %s\n", time.Since(b.began).Seconds(), fmt.Sprintf(format, args...))
}

// bounded ends ctx after a while. It sets no deadline: gRPC sends those along with
// every call, which would be measured.
func bounded(ctx context.Context, limit time.Duration, what string) (context.Context, context.CancelFunc) {
	ctx, cancel := context.WithCancelCause(ctx)
	t := time.AfterFunc(limit, func() { cancel(fmt.Errorf("%s took more than %v", what, limit)) })
	return ctx, func() {
		t.Stop()
		cancel(nil)
	}
}
