package roster

import (
	"context"
	"errors"
	"path/filepath"
	"sync"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
)

// step is what is to be done for one plugin's name.
type step struct {
	owner     string
	candidate plugin.Candidate // zero: the file is gone
	again     bool             // do it even if the same was tried in vain before
	unasked   bool             // no operator asked for it, so what is inside the workspace is held
}

// startRule says when the step starts a plugin that is not known.
func (st step) startRule() startRule {
	if st.again {
		return startAlways
	}
	return startIfDue
}

// Sync brings the plugins in line with the directories, as host.Host.Sync says.
func (r *Roster) Sync(ctx context.Context, dirs ...string) error {
	steps, faults := r.plan(dirs, onSync)
	r.forgetFaults(dirs, faults)
	r.Reread()
	err := r.applyAll(ctx, steps, append(faults, r.pinFaults(dirs)...))
	return errors.Join(err, r.regrantAll(ctx, ""))
}

// Refresh is Sync without an operator's word: what is new or has changed inside the
// workspace is held, and what was tried in vain is not tried again.
func (r *Roster) Refresh(ctx context.Context, dirs ...string) error {
	steps, faults := r.plan(dirs, onRefresh)
	for i := range steps {
		steps[i].unasked = true
	}
	return r.applyAll(ctx, steps, faults)
}

// SyncPlugin is Sync for one plugin.
func (r *Roster) SyncPlugin(ctx context.Context, name string, dirs ...string) error {
	steps, faults := r.plan(dirs, onSync)
	r.Reread()
	for _, st := range steps {
		if st.owner == name {
			faults = []error{r.member(name).applyStep(ctx, st)}
		}
	}
	return errors.Join(append(faults, r.regrantAll(ctx, name))...)
}

// begin begins a step of one plugin, which lasts until end is called.
func (r *Roster) begin(ctx context.Context, name string) (m *member, end func(), err error) {
	if m = r.find(name); m == nil {
		return nil, nil, noPlugin(name)
	}
	end, err = m.begin(ctx)
	return m, end, err
}

// Restart restarts a plugin, as host.Host.RestartPlugin says.
func (r *Roster) Restart(ctx context.Context, name string) error {
	m, end, err := r.begin(ctx, name)
	if err != nil {
		return err
	}
	defer end()
	return m.restart(ctx)
}

// applyAll does steps side by side, and joins what went wrong.
func (r *Roster) applyAll(ctx context.Context, steps []step, faults []error) error {
	errs := make([]error, len(steps))
	var all sync.WaitGroup
	for i, st := range steps {
		all.Go(func() { errs[i] = r.member(st.owner).applyStep(ctx, st) })
	}
	all.Wait()
	return errors.Join(append(faults, errs...)...)
}

// occasion is on what the directories are looked at.
type occasion int

const (
	onLook    occasion = iota // files may have changed
	onRefresh                 // settings and pins, too
	onSync                    // the operator says so
)

// plan finds the difference between the directories and the members. What was tried in
// vain is tried again only by the operator's word, or if it has changed.
func (r *Roster) plan(dirs []string, on occasion) (steps []step, faults []error) {
	r.addDirs(dirs)
	wanted := map[string]plugin.Candidate{}
	unreadable := map[string]bool{}
	var order []string
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			faults = append(faults, err)
			continue
		}
		found, err := r.discover(abs)
		if err != nil {
			unreadable[abs] = true
			faults = append(faults, err)
			continue
		}
		for _, c := range found {
			if first, there := wanted[c.Name]; there {
				faults = append(faults, nameTaken(c.Name, first.Path))
				continue
			}
			wanted[c.Name] = c
			order = append(order, c.Name)
		}
	}
	for _, s := range r.sources() {
		_, there := wanted[s.member.owner]
		if s.path != "" && !there && !unreadable[s.dir()] && HoldsDir(dirs, s.dir()) {
			steps = append(steps, step{owner: s.member.owner})
		}
	}
	for _, name := range order {
		m := r.member(name)
		if m.differs(wanted[name], on) && (on == onSync || m.now().detached != wanted[name].Path) {
			steps = append(steps, step{owner: name, candidate: wanted[name], again: on == onSync})
		}
	}
	return steps, faults
}

// sources returns the source of each member that is not absent.
func (r *Roster) sources() []*source {
	r.mu.Lock()
	defer r.mu.Unlock()
	var out []*source
	for _, m := range r.members {
		if m.source != nil {
			out = append(out, m.source)
		}
	}
	return out
}

// differs reports whether a candidate differs from the member's source, and is to be tried.
func (m *member) differs(c plugin.Candidate, on occasion) bool {
	now := m.now()
	if now.source == nil {
		return true
	}
	found, settings := manifest.StampOf(c.Binary()), m.roster.opts.Settings(c)
	switch same := now.source.isAs(c, found, settings); {
	case same && now.source.isUnusable():
		return on == onSync || now.source.isDue()
	case same && on == onLook:
		return false
	case same && now.source.mayRun():
		return now.failed != nil // of another file, settings or pins, which are taken back
	}
	return on == onSync || now.failed == nil || now.failed.differs(found, settings)
}

// applyStep does one step. What it finds has the last word, as another step may have been
// done since the plan was made.
func (m *member) applyStep(ctx context.Context, st step) error {
	end, err := m.begin(ctx)
	if err != nil {
		return err
	}
	defer end()
	if st.candidate.Path != "" {
		release, err := m.roster.starting.take(ctx, m.owner)
		if err != nil {
			return err
		}
		defer release()
	}
	if st.unasked && m.hold(st) {
		return nil
	}
	defer m.setHeld(heldChange{}) // also what a look held meanwhile, which saw the old source
	now := m.now().source
	switch {
	case st.candidate.Path == "":
		m.withdraw(now)
		return nil
	case now == nil:
		added, err := m.add(ctx, st.candidate)
		if err != nil || added == nil {
			return err
		}
		err = m.load(ctx, added, st.startRule())
		if about, known := added.plugin.Description(); known {
			m.tell(journal.Added, "plugin added", "version", about.Version, "tools", len(about.Tools))
		}
		return err
	case now.path == "": // a server, or a provider that the embedder attached, has this name
		return nameTaken(m.owner, now.shownPath())
	}
	settings := m.roster.opts.Settings(st.candidate)
	same := now.isAs(st.candidate, manifest.StampOf(st.candidate.Binary()), settings)
	switch {
	case !same && now.takeSame(ctx, st.candidate, settings):
		m.forgetFailed(now)
		return nil
	case !same, !now.isUnusable() && !now.mayRun(): // the start says why it may not
		next := m.sourceOf(ctx, st.candidate, settings)
		if st.unasked && next.kept == nil && next.isJudged() { // only its settings have changed
			next.sum.Store(now.sum.Load())
		}
		return m.upgrade(ctx, now, next)
	case !now.isUnusable():
		m.forgetFailed(now)
		return nil
	case st.again:
		return m.restart(ctx)
	}
	return m.load(ctx, now, startIfDue)
}

// load asks a source for its tools, and publishes them. The caller has a start slot.
func (m *member) load(ctx context.Context, s *source, rule startRule) error {
	s, said, leftOut := m.ask(ctx, s, rule)
	return errors.Join(append(m.roster.register(ctx, []*source{s}, []listing{said}), leftOut)...)
}
