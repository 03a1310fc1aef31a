package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Options say what is verified, and how.
type Options struct {
	// File is the plugin's executable. Required.
	File string
	// Checks choose the checks: patterns of IDs. Empty: all. What a chosen check needs is run, too, and reported only
	// if it finds something.
	Checks []string
	// Calls are arguments for tools: those of tools that cannot be made from a schema, and of
	// tools that are not safe and may be called.
	Calls []tool.Call
	// Dangerous allows all tools to be called, with arguments that are made from their schemas.
	Dangerous bool
	// Config is the plugin's configuration. Empty: none.
	Config json.RawMessage
	// Root is the workspace. Empty: a new directory, which is removed.
	Root string
	// Timeout bounds a start, and each call. Default: that of the host for starts, 10 s.
	Timeout time.Duration
	// HostVersion is sent to the plugin.
	HostVersion string
	// Fast leaves out the checks that take longest; Long makes all calls of those that a time bounds.
	Fast, Long bool
	// Begin is called with each check that begins; several can run at a time. Nil: nothing is.
	Begin func(Check)
}

// checkTimes is how many timeouts a check may take: it makes several calls.
const checkTimes = 8

// Run verifies a plugin. What it starts has ended when it returns.
//
// # Errors
//
// [tool.CodeNotFound] if the file does not exist; [tool.CodeInvalidArguments] if no check is chosen;
// [tool.CodeUnsupported] on systems without Unix sockets; the end of ctx; a plain error if the
// directory for temporary files cannot be used. What is wrong with the plugin is in the report.
func Run(ctx context.Context, o Options) (*Report, error) {
	chosen, err := o.chosen()
	if err != nil {
		return nil, err
	}
	s, err := newSubject(o, chosen)
	if err != nil {
		return nil, err
	}
	defer s.close()
	began := time.Now()
	report := &Report{File: s.path, Called: []string{}, Checks: []Result{}}
	left := slices.DeleteFunc(Checks(), func(c Check) bool { return s.found[c.ID] == nil })
	group, since := "", began // the checks of a group may share what one of them has done
	for len(left) > 0 {
		n := 1
		for matches(apart, left[0].ID) && n < len(left) && matches(apart, left[n].ID) {
			n++
		}
		if g := left[0].Group(); g != group {
			group, since = g, time.Now()
		}
		s.together(ctx, left[:n])
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		for _, c := range left[:n] {
			v := s.found[c.ID]
			if v.outcome == Fail && report.Failed == 0 {
				report.Stderr = s.lastWords(since)
			}
			if chosen[c.ID] || v.outcome == Fail {
				report.add(c, v.finding, v.took)
			}
		}
		left = left[n:]
	}
	report.Took = tool.Duration(time.Since(began))
	s.describe(report)
	return report, nil
}

// chosen returns the IDs of the checks that the options choose.
func (o Options) chosen() (map[string]bool, error) {
	out := map[string]bool{}
	for _, c := range Checks() {
		if len(o.Checks) == 0 || matches(o.Checks, c.ID) {
			out[c.ID] = true
		}
	}
	if len(out) == 0 {
		return nil, tool.Errorf(tool.CodeInvalidArguments, "no check fits %s", strings.Join(o.Checks, ", ")).Try("see toolhost dev verify --list")
	}
	return out, nil
}

// needs returns the chosen checks, and those that they need, directly or not.
func needs(chosen map[string]bool) map[string]bool {
	out := map[string]bool{}
	all := Checks()
	for _, c := range slices.Backward(all) {
		if chosen[c.ID] || out[c.ID] {
			out[c.ID] = true
			for _, id := range c.after {
				out[id] = true
			}
		}
	}
	return out
}

// verdict is what was found by a check, when done is closed.
type verdict struct {
	finding
	took time.Duration
	done chan struct{}
}

// outcome returns what became of a check; empty: nothing yet.
func (s *subject) outcome(id string) Outcome {
	if v := s.found[id]; v != nil {
		select {
		case <-v.done:
			return v.outcome
		default:
		}
	}
	return ""
}

// maxTogether is how many checks run at a time: a plugin that starts slowly mostly waits, and each start takes memory.
const maxTogether = 4

// together runs checks that need nothing of each other but outcomes, which one of them waits for: those before it run.
func (s *subject) together(ctx context.Context, checks []Check) {
	var all errgroup.Group
	all.SetLimit(maxTogether)
	for _, c := range checks {
		all.Go(func() error {
			v := s.found[c.ID]
			defer close(v.done)
			v.finding, v.took = s.try(ctx, c)
			return nil
		})
	}
	_ = all.Wait() // none returns an error
}

// try runs a check if what it needs has passed.
func (s *subject) try(ctx context.Context, c Check) (f finding, took time.Duration) {
	for _, id := range c.after {
		v := s.found[id]
		<-v.done
		switch v.outcome {
		case Fail:
			return skip("%s has failed", id), 0
		case Skip: // and so why the first of them was
			return v.finding, 0
		}
	}
	for _, before := range Checks() {
		if before.ID == c.ID {
			break
		}
		if v := s.found[before.ID]; v != nil && matches(c.unless, before.ID) {
			if <-v.done; v.outcome == Fail {
				return skip("%s has failed", before.ID), 0
			}
		}
	}
	if s.Fast && matches(slow, c.ID) {
		return skip("--fast leaves it out"), 0
	}
	if s.Begin != nil {
		s.mu.Lock()
		s.Begin(c)
		s.mu.Unlock()
	}
	began := time.Now()
	defer func() { took = time.Since(began) }()
	ctx, cancel := context.WithTimeoutCause(ctx, checkTimes*s.Timeout, fmt.Errorf("the check took longer than %v", checkTimes*s.Timeout))
	defer cancel()
	return c.run(ctx, s), 0
}

// describe adds to the report what is known of the plugin.
func (s *subject) describe(r *Report) {
	if s.about != nil {
		r.Plugin, r.Version = sanitize.Line(s.about.GetName(), 100), sanitize.Line(s.about.GetVersion(), 100)
		r.SDK, r.Tools = sanitize.Line(s.about.GetSdk(), 100), len(s.about.GetTools())
	}
	often := s.brief(1)
	for _, c := range s.calls {
		if c.tried && !slices.Contains(r.Called, c.def.Name) {
			r.Called = append(r.Called, c.def.Name)
			if c.good && !slices.ContainsFunc(often, func(o *call) bool { return o.def.Name == c.def.Name }) {
				r.Slow = append(r.Slow, c.def.Name)
			}
		}
	}
}
