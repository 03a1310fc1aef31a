package verify

import (
	"context"
	"errors"
	"fmt"
	"time"

	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

// How long a phase may take.
const (
	firstTime  = 5 * time.Second // the first call, if the same one is quicker the next time
	healthTime = 5 * time.Second // until it is well
	healthRest = 500 * time.Millisecond
	beginTime  = 50 * time.Millisecond // until a call runs that is cancelled then
	cancelTime = 2 * time.Second       // until it has ended
)

// checkFirst repeats the first call, or that of a tool, if it took long. A later one may do what is kept.
func checkFirst(ctx context.Context, s *subject, p *process) finding {
	name, args, first := noTool, []byte(`{}`), s.unknown
	if c := s.calls[0]; c.took > first {
		name, args, first = c.def.Name, c.args, c.took
	}
	if first <= firstTime {
		return passed
	}
	began := time.Now()
	_, err := p.link.execute(ctx, s.request(name, args))
	if later := time.Since(began); err == nil && later < first/2 {
		return warn("the first call took %v, and the same one later %v",
			first.Round(10*time.Millisecond), later.Round(time.Millisecond))
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

// checkGivenUp makes calls that are given up, and looks whether others are still answered and the processor is at rest.
// On the stream [checkCancelled] sees more.
func checkGivenUp(ctx context.Context, s *subject, p *process) finding {
	name, args, err := s.filler()
	if err != nil {
		return skip("%v", err)
	}
	given := make([]*pluginv1.ExecuteRequest, 50, 100)
	for i := range given {
		given[i] = s.request(name, args)
	}
	for _, c := range s.repeated() {
		given = append(given, s.request(c.def.Name, c.args))
	}
	for i, in := range given {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		if i%2 == 0 {
			short, cancel = context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
		}
		_, _ = p.link.client.Execute(short, in)
		cancel()
	}
	out, err := p.link.execute(ctx, s.request(noTool, nil))
	switch {
	case err != nil:
		return fail("after %d calls were given up: %v", len(given), err)
	case out.GetError() == nil:
		return fail("after %d calls were given up, a call of a tool that does not exist has a result", len(given))
	case s.Fast:
		return noted("--fast leaves out whether it works on")
	}
	switch percent, err := atWork(ctx, p); {
	case err != nil:
		return noted("whether it works on is not known: %v", err)
	case percent > busyPercentage && s.measure(ctx).busy <= busyPercentage: // or else it does so at rest, too
		return fail("cancel ignored: %v after its calls were given up it still takes %d %% of a processor",
			cancelTime, percent)
	case s.outcome("stream.opens") != Pass:
		return noted("of what goes on, only use of the processor is seen: the feature stream would tell")
	}
	return passed
}

// atWork returns how many percent of a processor a process takes when it is at rest again, or cancelTime has passed.
func atWork(ctx context.Context, p *process) (percent int, err error) {
	quiet := false
	for range cancelTime / atRest {
		began := time.Now()
		first, err := p.look()
		if err == nil {
			err = pause(ctx, atRest)
		}
		last, again := p.look()
		percent = busy(first, last, time.Since(began))
		if err = errors.Join(err, again); err != nil || quiet && percent <= busyPercentage {
			return percent, err
		}
		quiet = percent <= busyPercentage
	}
	return percent, nil
}

// checkCancelled cancels a call of each tool while it runs, and then more calls than a host leaves without results.
func checkCancelled(ctx context.Context, s *subject, l *lane) error {
	name, args, err := s.filler()
	if err != nil {
		return err
	}
	if s.outcome("calls.first") == Warn { // which is not the work of a call
		_, _ = l.link.execute(ctx, s.request(s.calls[0].def.Name, s.calls[0].args))
	}
	r := l.raw()
	running := s.repeated()
	last := uint32(len(running)) //nolint:gosec // a plugin has fewer tools
	for i, c := range running {
		err = errors.Join(err, r.call(uint32(i+1), s.request(c.def.Name, c.args))) //nolint:gosec // as above
	}
	err = errors.Join(err, pause(ctx, beginTime))
	for n := range last {
		err = errors.Join(err, r.frame(kindCancel, n+1, 0, nil))
	}
	if err != nil {
		return err
	}
	late, cancel := context.WithTimeoutCause(ctx, cancelTime, errLate)
	defer cancel()
	if err = r.answered(late, last); errors.Is(err, errLate) {
		var f faults
		for i, c := range running {
			if !r.seen[uint32(i+1)] { //nolint:gosec // as above
				f.add("cancel ignored: %s goes on for more than %v after its call was cancelled", c.shown(), cancelTime)
			}
		}
		return errors.New(f.finding(Fail).why)
	}
	for n := last + 1; n <= last+1200 && err == nil; n++ {
		err = errors.Join(r.call(n, s.request(name, args)), r.frame(kindCancel, n, 0, nil))
	}
	if err != nil {
		return err
	}
	if err := r.answered(ctx, last+1200); err != nil {
		return fmt.Errorf("since it was cancelled, %w", err)
	}
	return r.ask(ctx, last+1201, s.request(noTool, nil))
}
