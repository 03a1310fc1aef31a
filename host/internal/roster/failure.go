package roster

import (
	"context"
	"errors"
	"time"

	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/early"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin that does not start keeps whoever waits for it: for up to its start timeout, if
// it never shakes hands. So how it failed is remembered, under the identity of its file and
// of how it is run, and in the cache for the processes to come. It is started again
//
//   - when its file or its settings have changed;
//   - when the operator says so: Sync, Restart;
//   - after a pause that grows ([manifest.Failure.Due]): by Follow, by a call that may be
//     for one of its tools, and by a Load. A Load waits for a plugin that was slow to fail
//     only if the same process has tried it before.

// startRule says when a source whose tools are asked for is started.
type startRule int

const (
	// startAlways starts the plugin whatever is remembered.
	startAlways startRule = iota
	// startIfDue starts it if the pause since its newest failure has passed.
	startIfDue
	// startIfQuick starts it if, besides, it fails quickly.
	startIfQuick
)

// recallOrList is list, but does not start a plugin whose description is remembered, or
// that is remembered to have failed and not to be tried now.
func (s *source) recallOrList(ctx context.Context, rule startRule) listing {
	r := s.member.roster
	recalled := r.memory.recall(ctx, s)
	if !recalled && rule != startAlways {
		before := s.lastFailure()
		if before == nil {
			before = r.memory.recallFailure(ctx, s)
		}
		if before != nil && (time.Now().Before(before.Due()) || rule == startIfQuick && before.Slow()) {
			return listing{err: s.notAgain(before)}
		}
	}
	out := s.list(ctx)
	out.recalled = recalled
	switch {
	case s.plugin == nil:
	case out.err != nil:
		s.noteFailure(ctx, out.err)
	case r.memory.Cache != nil && !recalled && early.Begun(ctx) == nil:
		r.memory.Hash(ctx, s.subject()) // here others do so side by side
	}
	return out
}

// notAgain is the error for a plugin that is not tried again yet.
func (s *source) notAgain(f *manifest.Failure) error {
	owner := s.member.owner
	return &tool.Error{
		Code: tool.CodeUnavailable, Plugin: owner, Stage: callstage.Start, Unsent: true,
		Message: f.Message, OperatorHint: pluginrun.TryAgainHint(owner), Detail: f.Detail,
		RetryAfter: tool.Duration(max(0, time.Until(f.Due()))),
	}
}

// lastFailure returns how the newest start failed; nil: it did not, as far as is known.
func (s *source) lastFailure() *manifest.Failure {
	s.member.roster.mu.Lock()
	defer s.member.roster.mu.Unlock()
	return s.failure
}

func (s *source) setFailure(f *manifest.Failure) {
	s.member.roster.mu.Lock()
	defer s.member.roster.mu.Unlock()
	s.failure = f
}

// isDue reports whether a source that cannot be used may be tried without being asked to.
func (s *source) isDue() bool {
	f := s.lastFailure()
	return f != nil && !time.Now().Before(f.DueUnasked())
}

// noteFailure remembers that a plugin did not start by a fault of its own.
func (s *source) noteFailure(ctx context.Context, err error) {
	took, ok := pluginrun.FailedStart(err)
	if !ok {
		return
	}
	if _, said := s.plugin.Description(); said {
		return // its tools are known: its next call starts it again
	}
	e, r := tool.AsError(err), s.member.roster
	f := s.lastFailure().Add(manifest.Failure{
		At: time.Now().UTC().Round(0), Took: took, Limit: s.settings.StartTimeout, Message: e.Message, Detail: e.Detail,
		Revision: s.revision(),
	})
	s.setFailure(&f)
	if r.memory.Cache == nil || errors.Is(ctx.Err(), context.Canceled) {
		return
	}
	if err := r.memory.StoreFailure(ctx, s.subject(), f); err != nil {
		r.log.Debug("the failure of a plugin is not remembered", "plugin", s.member.owner, "error", err)
	}
}
