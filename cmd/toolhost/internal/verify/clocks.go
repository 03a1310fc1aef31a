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
	_, err := p.client.Execute(ctx, s.request(name, args))
	if later := time.Since(began); err == nil && later < first/2 {
		return warn("the first call took %v, and the same one later %v",
			first.Round(10*time.Millisecond), later.Round(time.Millisecond))
	}
	return passed
}

// isWellSoon asks for the plugin's own health until it is well.
func isWellSoon(ctx context.Context, p *process) finding {
	for until := time.Now().Add(healthTime); ; {
		out, err := p.client.Health(ctx, &pluginv1.HealthRequest{})
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
	for _, c := range s.quick(s.Timeout) {
		given = append(given, s.request(c.def.Name, c.args))
	}
	for i, in := range given {
		short, cancel := context.WithTimeout(ctx, time.Millisecond)
		if i%2 == 0 {
			short, cancel = context.WithCancel(ctx)
			time.AfterFunc(time.Millisecond, cancel)
		}
		_, _ = p.client.Execute(short, in)
		cancel()
	}
	out, err := p.client.Execute(ctx, s.request(noTool, nil))
	switch {
	case err != nil:
		return fail("after %d calls were given up: %v", len(given), err)
	case out.GetError() == nil:
		return fail("after %d calls were given up, a call of a tool that does not exist has a result", len(given))
	case s.Fast:
		return noted("--fast leaves out whether it works on")
	}
	switch percent, err := p.busy(ctx); {
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

// checkCancelled cancels a call of each tool while it runs, and then many at a time.
func checkCancelled(ctx context.Context, s *subject, l *lane) error {
	name, args, err := s.filler()
	if err != nil {
		return err
	}
	if s.outcome("calls.first") == Warn { // which is not the work of a call
		_, _ = l.proc.client.Execute(ctx, s.request(s.calls[0].def.Name, s.calls[0].args))
	}
	var number uint32
	for _, c := range s.quick(s.Timeout) {
		number++
		err = errors.Join(err, l.call(number, s.request(c.def.Name, c.args)))
	}
	err = errors.Join(err, pause(ctx, beginTime))
	for n := range number {
		err = errors.Join(err, l.frame(kindCancel, n+1, 0, nil))
	}
	if err != nil {
		return err
	}
	if err = l.answered(number, cancelTime); errors.Is(err, errLate) {
		var f faults
		for i, c := range s.quick(s.Timeout) {
			if !l.seen[uint32(i+1)] { //nolint:gosec // a plugin has fewer tools
				f.add("cancel ignored: %s goes on for more than %v after its call was cancelled", c.shown(), cancelTime)
			}
		}
		return errors.New(f.finding(Fail).why)
	}
	for range cancelled {
		number++
		err = errors.Join(err, l.call(number, s.request(name, args)), l.frame(kindCancel, number, 0, nil))
	}
	if err == nil {
		err = l.answered(number, s.Timeout)
	}
	if err != nil {
		return fmt.Errorf("since it was cancelled, %w", err)
	}
	return l.ask(number+1, s.request(noTool, nil))
}

// cancelled is how many calls are cancelled at a time.
const cancelled = 200
