package roster

import (
	"context"
	"errors"
	"maps"
	"slices"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/early"
	"github.com/toolhost/toolhost/internal/pluginrun"
)

// Load loads the plugins of directories, as host.Host.Load says.
func (r *Roster) Load(ctx context.Context, dirs ...string) error {
	if early.Calls(ctx) {
		go func() {
			_, _ = r.sockets.path("") // or the start says why not
			pluginrun.Prepare()
		}()
	}
	r.addDirs(dirs)
	_ = r.pinFaults(dirs) // each start reports them; here they only make a lock required
	found := make([][]plugin.Candidate, len(dirs))
	unread := make([]error, len(dirs))
	for i, dir := range dirs {
		found[i], unread[i] = r.discover(dir)
	}
	ends, notBegun := r.beginAll(ctx, slices.Concat(found...))
	defer func() {
		for _, end := range ends {
			end()
		}
	}()
	var faults []error
	var sources []*source
	for i := range dirs {
		if unread[i] != nil {
			faults = append(faults, unread[i])
		}
		for _, c := range found[i] {
			s, err := (*source)(nil), notBegun[c.Name]
			if err == nil {
				s, err = r.member(c.Name).add(ctx, c)
			}
			if err != nil {
				faults = append(faults, err)
			} else if s != nil && !slices.Contains(sources, s) {
				sources = append(sources, s)
			}
		}
	}
	if begun := early.Begun(ctx); begun != nil {
		begun()
		return errors.Join(append(faults, r.loadEarly(ctx, sources, ends)...)...)
	}
	said, leftOut := make([]listing, len(sources)), make([]error, len(sources))
	r.listAll(ctx, sources, said, leftOut, func(int) {})
	return errors.Join(append(append(faults, leftOut...), r.register(ctx, sources, said)...)...)
}

// earlyTime is how long tools wait for those of other plugins, so that names are given out in order.
const earlyTime = 300 * time.Millisecond

// loadEarly publishes what sources say in one step after earlyTime, and from then on as each says it, and ends
// its member's step.
func (r *Roster) loadEarly(ctx context.Context, sources []*source, ends map[string]func()) (faults []error) {
	said, leftOut := make([]listing, len(sources)), make([]error, len(sources))
	done := make(chan int, len(sources))
	go r.listAll(ctx, sources, said, leftOut, func(i int) { done <- i })
	together := time.After(earlyTime)
	var ready []int
	for left := len(sources); left > 0; {
		select {
		case i := <-done:
			ready = append(ready, i)
			left--
		case <-together:
			together = nil
		}
		if together != nil && left > 0 {
			continue
		}
		slices.Sort(ready)
		var some []*source
		var theirs []listing
		for _, i := range ready {
			some, theirs, faults = append(some, sources[i]), append(theirs, said[i]), append(faults, leftOut[i])
		}
		faults = append(faults, r.register(ctx, some, theirs)...)
		for _, s := range some {
			if end := ends[s.member.owner]; end != nil {
				end()
			}
		}
		ready = nil
	}
	return faults
}

// beginAll begins a step for each candidate that is not loaded from the same file, or whose
// tools are not known: it waits for whoever is loading it. The order of names keeps two of
// them from waiting for each other.
func (r *Roster) beginAll(ctx context.Context, all []plugin.Candidate) (ends map[string]func(), faults map[string]error) {
	fresh := map[string]bool{}
	for _, c := range all {
		if s := r.member(c.Name).now().source; s == nil || s.path != c.Path || !s.isSettled() {
			fresh[c.Name] = true
		}
	}
	ends, faults = map[string]func(){}, map[string]error{}
	for _, name := range slices.Sorted(maps.Keys(fresh)) {
		if end, err := r.member(name).begin(ctx); err != nil {
			faults[name] = err
		} else {
			ends[name] = sync.OnceFunc(end)
		}
	}
	return ends, faults
}

// add makes a candidate the member's source, unless that is of the same file already. It
// returns nil if nothing needs to be listed: the tools are known, or the plugin is disabled.
func (m *member) add(ctx context.Context, c plugin.Candidate) (*source, error) {
	if s := m.now().source; s != nil && s.path == c.Path {
		if s.isSettled() {
			return nil, nil
		}
		return s, nil
	}
	s := m.sourceOf(ctx, c, m.roster.opts.Settings(c))
	if err := m.become(stateFor(s), nil, s, nil); err != nil || s.isDisabled() {
		return nil, err
	}
	return s, nil
}

// isSettled reports whether nothing needs to be listed: the tools are known, or the plugin is
// disabled.
func (s *source) isSettled() bool { return s.isDisabled() || s.isServed() }

// listAll asks plugins side by side for their tools, a few at a time. Those that are
// remembered are not started. A source whose file cannot be used is replaced by one of a kept
// binary, and leftOut says why. It calls done with the index of each that has been asked.
func (r *Roster) listAll(ctx context.Context, sources []*source, out []listing, leftOut []error, done func(i int)) {
	var all sync.WaitGroup
	for i, s := range sources {
		rule := startIfQuick
		if s.lastFailure() != nil { // this process has tried it before, and is asked again
			rule = startIfDue
		}
		release, err := r.starting.take(ctx, s.member.owner)
		if err != nil {
			out[i].err = err
			done(i)
			continue
		}
		all.Go(func() {
			defer done(i)
			defer release()
			sources[i], out[i], leftOut[i] = s.member.ask(ctx, s, rule)
		})
	}
	all.Wait()
}

// register publishes what new sources said, in one step, and follows their changes. It
// returns an error for each source.
func (r *Roster) register(ctx context.Context, sources []*source, said []listing) []error {
	sets, faults, sound := make([]Set, len(sources)), make([]error, len(sources)), make([]bool, len(sources))
	for i, s := range sources {
		sets[i], faults[i] = s.member.compile(ctx, s, said[i])
		sound[i] = faults[i] == nil
	}
	published, results := r.publish(sources, sets)
	for i, taken := range published {
		faults[i] = errors.Join(faults[i], taken)
	}
	if haveFreed(results) {
		r.ReturnNames()
	}
	for _, s := range sources {
		s.activate(nil)
	}
	if early.Begun(ctx) == nil {
		keepSaid(sources, said)
		return faults
	}
	r.inBackground(func() { // what is served does not wait until binaries are read
		for i, s := range sources {
			ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), keepTime)
			r.memory.rememberSaid(ctx, s, said[i], sound[i])
			cancel()
		}
		keepSaid(sources, said)
	})
	return faults
}

// keepSaid copies the files of those that were asked just now.
func keepSaid(sources []*source, said []listing) {
	for i, s := range sources {
		if !said[i].recalled && s.isServed() {
			s.keep()
		}
	}
}
