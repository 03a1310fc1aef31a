package verify

import (
	"context"
	"errors"
	"fmt"
	"sync/atomic"
	"time"

	"golang.org/x/sync/errgroup"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// How long a phase may take, and how much of it is tried.
const (
	firstTime  = 2 * time.Second // the first call, if the same one is quicker the next time
	healthTime = 5 * time.Second // until it is well
	healthRest = 500 * time.Millisecond
	beginTime  = 50 * time.Millisecond // until a call runs that is cancelled then
	cancelTime = 2 * time.Second       // until it has ended
	manyCalls  = 6000
	manyTime   = 5 * time.Second
)

// checkFirst repeats what took long, if that was the first call of a tool, or of any.
func checkFirst(ctx context.Context, s *subject, p *process) finding {
	slow := &call{took: s.unknown, args: []byte(`{}`)}
	name := noTool
	for _, c := range s.calls {
		if c.good && c.took > slow.took {
			slow, name = c, c.def.Name
		}
	}
	if slow.took <= firstTime {
		return passed
	}
	began := time.Now()
	if _, err := p.link.execute(ctx, s.request(name, slow.args)); err != nil {
		return skip("%v", err)
	}
	if took := time.Since(began); took < slow.took/2 {
		return warn("the first call took %v, and the same one later %v", slow.took.Round(10*time.Millisecond), took.Round(time.Millisecond))
	}
	return passed
}

// isWellSoon asks for the plugin's own health until it is well.
func isWellSoon(ctx context.Context, p *process) finding {
	for until := time.Now().Add(healthTime); ; {
		out, err := unary(ctx, p.link, "Health", p.link.client.Health, &pluginv1.HealthRequest{})
		switch {
		case err != nil:
			return failIf(err)
		case out.GetProblem() == "":
			return passed
		case time.Now().After(until):
			return fail("Health is not well for %v, so that hosts show it as degraded: %s", healthTime, out.GetProblem())
		}
		if err := pause(ctx, healthRest); err != nil {
			return skip("%v", err)
		}
	}
}

// checkEnds cancels a call of each tool while it runs. On the stream a result frame says when a call has ended; for
// the rest, and for Execute, which says nothing, the processor is looked at.
func checkEnds(ctx context.Context, s *subject) finding {
	var running []*pluginv1.ExecuteRequest
	for _, c := range s.calls {
		if c.good && s.mayCall(c.declared) && len(c.args) < chunkSize && len(running) < sessions {
			running = append(running, s.request(c.def.Name, c.args))
		}
	}
	if len(running) == 0 {
		return skip("no call was answered")
	}
	p, err := s.open(ctx, startOptions{})
	if err != nil {
		return failIf(err)
	}
	defer s.end(p)
	if s.outcome("calls.first") == Warn { // which is not the work of a call
		_, _ = p.link.execute(ctx, running[0])
	}
	streamed := s.outcome("stream.opens") == Pass
	if streamed {
		err = endOnStream(ctx, p, running)
	} else {
		short, cancel := context.WithTimeout(ctx, beginTime)
		defer cancel()
		for _, in := range running {
			go func() { _, _ = p.link.client.Execute(short, in) }()
		}
		err = pause(ctx, cancelTime/2)
	}
	if err != nil {
		return failIf(err)
	}
	first, err := p.look()
	began := time.Now()
	if err == nil {
		err = pause(ctx, atRest)
	}
	last, again := p.look()
	switch percent := busy(first, last, time.Since(began)); {
	case errors.Join(err, again) != nil && !streamed:
		return skip("%v", errors.Join(err, again))
	case percent > busyPercentage && s.outcome("resources.idle") != Fail:
		return fail("cancel ignored: after its calls were cancelled it still takes %d %% of a processor", percent)
	case !streamed:
		return noted("seen of its processor time alone: only the feature stream tells when a cancelled call has ended")
	}
	return passed
}

// endOnStream makes calls, cancels them and waits for their results.
func endOnStream(ctx context.Context, p *process, all []*pluginv1.ExecuteRequest) error {
	l, err := p.openLane(ctx)
	if err != nil {
		return err
	}
	defer l.stop()
	r := l.raw()
	for i, in := range all {
		err = errors.Join(err, r.call(uint32(i+1), in))
	}
	err = errors.Join(err, pause(ctx, beginTime))
	for i := range all {
		err = errors.Join(err, r.frame(kindCancel, uint32(i+1), 0, nil))
	}
	if err != nil {
		return err
	}
	late, cancel := context.WithTimeoutCause(ctx, cancelTime, errLate)
	defer cancel()
	err = r.answered(late, uint32(len(all)))
	if !errors.Is(err, errLate) {
		return err
	}
	var f faults
	for i, in := range all {
		if !r.seen[uint32(i+1)] {
			f.add("cancel ignored: %s goes on for more than %v after its call was cancelled", in.GetTool(), cancelTime)
		}
	}
	return errors.New(f.finding(Fail).why)
}

// checkMany makes many calls of one process.
func checkMany(ctx context.Context, s *subject, p *process) finding {
	name, args, err := s.filler()
	if err != nil {
		return skip("%v", err)
	}
	until := time.Now().Add(manyTime)
	var made atomic.Int64
	var all errgroup.Group
	for range sessions {
		all.Go(func() error {
			for made.Load() < manyCalls && (s.Long || time.Now().Before(until)) {
				n := made.Add(1)
				if _, err := p.link.execute(ctx, s.request(name, args)); err != nil {
					return fmt.Errorf("call %d: %w", n, err)
				}
			}
			return nil
		})
	}
	switch err := all.Wait(); {
	case err != nil:
		return failIf(err)
	case made.Load() < manyCalls:
		return noted("%d calls took %v; --long makes all %d", made.Load(), manyTime, manyCalls)
	}
	return passed
}
