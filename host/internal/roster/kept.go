package roster

import (
	"cmp"
	"context"
	"errors"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/kept"
	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// openKept returns nil if the directory cannot be used: nothing depends on it as long as new
// files start.
func openKept(dir string, book *known.Book, log hclog.Logger) *kept.Store {
	s, err := kept.Open(dir, book)
	if err != nil {
		log.Warn("the binaries that served are not kept, so there is no way back to them", "error", err)
		return nil
	}
	return s
}

// started is called after each start of the plugin. A plugin whose tools were remembered is
// known to serve then.
func (s *source) started() {
	s.compareNeeds()
	s.raise()
	if s.isServed() {
		s.keep()
	}
}

// keepTime bounds how long copying a binary may take.
const keepTime = time.Minute

// keep copies the file of a source that serves, in the background and once.
func (s *source) keep() {
	r := s.member.roster
	if r.binaries == nil || s.kept != nil || s.path == "" || s.saving.Swap(true) {
		return
	}
	r.inBackground(func() {
		ctx, cancel := context.WithTimeout(context.Background(), keepTime)
		defer cancel()
		before, known := s.stamp(), s.digest()
		about, _ := s.plugin.Description()
		sum, err := "", error(nil)
		if manifest.StampOf(s.file) == before {
			sum, err = r.binaries.Keep(ctx, s.key, s.path, s.file, about.Version, known)
		}
		if err != nil {
			r.log.Info("a binary that serves is not kept", "plugin", s.member.owner, "error", err)
		}
		// The file may have been exchanged while it was copied.
		if sum != "" && (sum == known || known == "" && manifest.StampOf(s.file) == before) {
			s.saved.Store(&sum)
		}
	})
}

// sourceOf makes a source of a candidate: of its file, or of the kept binary that the operator
// went back to, as long as the file is the one that he came from.
func (m *member) sourceOf(ctx context.Context, c plugin.Candidate, settings plugin.Settings) *source {
	r := m.roster
	to, from := r.binaries.RolledBack(known.At(c.Path, m.owner))
	if to == nil || !settings.Enabled {
		return m.newSource(c, settings)
	}
	found := manifest.StampOf(c.Binary())
	sum, err := r.memory.fileDigest(ctx, c.Binary())
	if err == nil && sum.String() == from {
		return m.rolledBack(c, settings, *to, found, sum)
	}
	if err == nil {
		m.endRollback(c.Path)
	}
	return m.newSource(c, settings)
}

func (m *member) endRollback(path string) {
	if err := m.roster.binaries.RollBack(known.At(path, m.owner), nil); err != nil {
		m.roster.log.Warn("the end of a rollback is not remembered", "plugin", m.owner, "error", err)
	}
}

// ask asks a source for its tools. If its file cannot be used, the newest of the binaries that
// served before takes its place: then it returns another source, and as leftOut why.
func (m *member) ask(ctx context.Context, s *source, rule startRule) (_ *source, said listing, leftOut error) {
	said = s.recallOrList(ctx, rule)
	r := m.roster
	kept := r.binaries.Of(s.key) // of a server, or a provider that is attached, none
	if said.err == nil || ctx.Err() != nil || s.kept != nil || len(kept) == 0 {
		return s, said, nil //nolint:nilerr // the error is in said
	}
	sum, _ := r.memory.fileDigest(ctx, s.file)
	for _, b := range kept {
		if b.SHA256 == sum.String() {
			continue
		}
		next := m.keptSource(s.candidate(), s.settings, b)
		again := next.recallOrList(ctx, startIfQuick)
		if again.err == nil && m.become(loading, s, next, nil) == nil {
			return next, again, m.noteFailedUpgrade(ctx, next, s, said.err)
		}
		_ = next.close(context.WithoutCancel(ctx))
	}
	return s, said, nil
}

// Rollback makes the kept binary serve that served before the one that does, as
// host.Host.RollbackPlugin says.
func (r *Roster) Rollback(ctx context.Context, name string) error {
	m, end, err := r.begin(ctx, name)
	if err != nil {
		return err
	}
	defer end()
	now := m.now().source
	switch {
	case now == nil || now.isAttached():
		return noPlugin(name)
	case now.server != nil:
		return notRolledBack(name, errors.New("it is a server, of which no binary is kept"), "mount the earlier one")
	case now.isDisabled():
		return notRolledBack(name, errors.New("it is disabled"), remedy.Enable.For(name))
	case r.binaries == nil:
		return notRolledBack(name, errors.New("no binaries are kept here"), "put the earlier file in its place")
	}
	c := now.candidate()
	found := manifest.StampOf(c.Binary())
	file, err := r.memory.fileDigest(ctx, c.Binary())
	if err != nil {
		return notRolledBack(name, err, "is its file still being copied?")
	}
	to := r.before(now, file.String())
	if to == nil {
		return notRolledBack(name, errors.New("no earlier binary of it is kept"),
			remedy.ShowPlugin.For(name)+", or put the earlier file in its place")
	}
	next := m.rolledBack(c, now.settings, *to, found, file)
	if _, err := m.replaceSource(ctx, now, next); err != nil {
		_ = next.close(context.WithoutCancel(ctx))
		return notRolledBack(name, err, tool.AsError(err).Advice())
	}
	r.ReturnNames()
	next.catchUp()
	r.log.Warn("a plugin was rolled back", "plugin", name, "to", next.describeKept())
	if err := r.binaries.RollBack(next.key, &known.Rollback{From: file.String(), To: to.SHA256}); err != nil {
		return tool.Errorf(tool.CodeInternal, "plugin %s is rolled back in this process alone: %w", name, err).
			Of("", name).Fix("put the earlier file in its place")
	}
	return nil
}

// before returns the binary that served before the one that serves now; nil: none is kept.
func (r *Roster) before(now *source, file string) *known.Binary {
	current := cmp.Or(now.serves(), file)
	of := r.binaries.Of(now.key)
	from := 0
	for i, b := range of {
		if b.SHA256 == current {
			from = i + 1
		}
	}
	for _, b := range of[from:] {
		if b.SHA256 != file {
			return &b
		}
	}
	return nil
}

func notRolledBack(name string, why error, hint string) error {
	return tool.Errorf(tool.CodeUnavailable,
		"plugin %s is not rolled back, and runs on as it was: %s", name, tool.AsError(why).Message).
		Of("", name).At(callstage.Start).Because(why).Fix(hint)
}

// addKept adds to a status which binaries are kept.
func (s *source) addKept(out *plugin.Status) {
	current := s.serves()
	for _, b := range s.member.roster.binaries.Of(s.key) {
		out.Kept = append(out.Kept, plugin.KeptBinary{
			SHA256: b.SHA256, Version: b.Version, Served: b.Served, Current: b.SHA256 == current,
		})
	}
	if s.isRolledBack() {
		out.RolledBack = "it runs " + s.describeKept() +
			"; a new file, or " + remedy.Restart.For(s.member.owner) + ", ends that"
	}
}
