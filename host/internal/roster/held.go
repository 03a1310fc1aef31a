package roster

import (
	"context"
	"path/filepath"
	"slices"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// heldChange is a change inside the workspace that waits for the operator.
type heldChange struct {
	candidate plugin.Candidate // its Path is empty: the file is gone
	stamp     manifest.Stamp
	path      string
}

// reason says what is held, and what to do about it.
func (c heldChange) reason(known bool) string {
	what := "its file is new inside the workspace"
	switch {
	case c.candidate.Path == "":
		what = "its file was removed inside the workspace"
	case known:
		what = "its file has changed inside the workspace"
	}
	return what + ", and waits for the operator's word: " + remedy.AcceptFile.For(c.candidate.Name)
}

// inWorkspace reports whether a plugin's file, its directory, or a link on the way to it lies
// in the workspace, and is held for that.
func (r *Roster) inWorkspace(path string) bool {
	if r.opts.Unheld || path == "" {
		return false
	}
	return protect.Inside(r.opts.Workspace, path) || protect.Inside(r.opts.Workspace, filepath.Dir(path))
}

// hold reports whether a step has to wait for the operator, and remembers that: it would
// run or withdraw what has changed inside the workspace.
func (m *member) hold(st step) bool {
	now := m.now()
	path, file := st.candidate.Path, st.candidate.Binary()
	if path == "" && now.source != nil {
		path, file = now.source.path, now.source.file
	}
	if !m.roster.inWorkspace(path) {
		return false
	}
	change := heldChange{st.candidate, manifest.StampOf(file), path}
	change.candidate.Name = m.owner
	if s := now.source; s != nil && s.path == st.candidate.Path && s.file == file && s.stamp() == change.stamp {
		return false // only its settings have changed
	}
	if before := m.setHeld(change); before != change {
		m.roster.log.Warn("a plugin directory inside the workspace has changed",
			"plugin", m.owner, "file", path, "held", change.reason(now.source != nil))
	}
	return true
}

// setHeld replaces what is held of a plugin, and returns what was; zero: nothing.
func (m *member) setHeld(change heldChange) (before heldChange) {
	m.roster.mu.Lock()
	defer m.roster.mu.Unlock()
	before, m.held = m.held, change
	return before
}

// releaseOthers forgets what is held of plugins without a step: their files are as they
// were again.
func (r *Roster) releaseOthers(steps []step) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for owner, m := range r.members {
		if !slices.ContainsFunc(steps, func(st step) bool { return st.owner == owner }) {
			m.held = heldChange{}
		}
	}
}

// mayStart is asked before each start of the plugin. What bounds a spare counts when it is called.
func (s *source) mayStart(spare bool) error {
	if !spare {
		s.bind()
	}
	return nil
}

// isJudged reports whether not any content of the file may run.
func (s *source) isJudged() bool {
	return s.settings.SHA256 != "" || s.member.roster.inWorkspace(s.path)
}

// judge is asked before the file starts: in the workspace, it runs only with the content that it had when
// the operator let it run. Size and times tell nothing there: who can write the file can set them back, and
// what is mapped is written without a trace.
func (s *source) judge(sha256 string) error {
	want := s.settings.SHA256
	if want == "" {
		var sum manifest.Digest
		if err := sum.UnmarshalText([]byte(sha256)); err == nil {
			s.setSum(sum) // unless it is known
		}
		want = s.digest()
	}
	if sha256 == want {
		return nil
	}
	if serving := s.member.now().source; serving != nil {
		serving.setStamp(manifest.Stamp{}) // so that the change is held
	}
	return changedInWorkspace(s.member.owner, s.path)
}

// asAccepted judges the file as it is now.
func (s *source) asAccepted(ctx context.Context) error {
	if !s.isJudged() {
		return nil
	}
	sum, err := manifest.DigestOf(ctx, s.file)
	if err != nil {
		return changedInWorkspace(s.member.owner, s.path)
	}
	return s.judge(sum.String())
}

func changedInWorkspace(owner, path string) error {
	return tool.Errorf(tool.CodeUnavailable, "plugin %s is not started: %s has changed inside the workspace", owner, path).
		Of("", owner).At(callstage.Start).NeverSent().
		Fix("if you changed it: " + remedy.AcceptFile.For(owner))
}
