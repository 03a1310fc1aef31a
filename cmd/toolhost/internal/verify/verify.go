package verify

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Options say what is verified, and how.
type Options struct {
	// File is the plugin's executable. Required.
	File string
	// Groups and Checks choose the checks: patterns of groups and IDs. Empty: all. What a chosen
	// check needs is run, too, and reported only if it finds something.
	Groups, Checks []string
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
	// Each is called with each result. Nil: nothing is.
	Each func(Result)
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
	group, since := "", began // the checks of a group may share what one of them has done
	for _, c := range Checks() {
		if !chosen[c.ID] && !s.needed[c.ID] {
			continue
		}
		start := time.Now()
		if c.Group() != group {
			group, since = c.Group(), start
		}
		f := s.try(ctx, c)
		if err := context.Cause(ctx); err != nil {
			return nil, err
		}
		if s.found[c.ID] = f.outcome; f.outcome == Fail && report.Failed == 0 {
			report.Stderr = s.lastWords(since)
		}
		if chosen[c.ID] || f.outcome == Fail {
			if res := report.add(c, f, time.Since(start)); o.Each != nil {
				o.Each(res)
			}
		}
	}
	report.Took = tool.Duration(time.Since(began))
	s.describe(report)
	return report, nil
}

// chosen returns the IDs of the checks that the options choose.
func (o Options) chosen() (map[string]bool, error) {
	out := map[string]bool{}
	for _, c := range Checks() {
		all := len(o.Groups)+len(o.Checks) == 0
		if all || matches(o.Groups, c.Group()) || matches(o.Checks, c.ID) {
			out[c.ID] = true
		}
	}
	if len(out) == 0 {
		return nil, tool.Errorf(tool.CodeInvalidArguments,
			"no check fits %s", strings.Join(slices.Concat(o.Groups, o.Checks), ", ")).Try("see toolhost dev verify --list")
	}
	return out, nil
}

// needs returns the checks that the chosen ones need, directly or not.
func needs(chosen map[string]bool) map[string]bool {
	out := map[string]bool{}
	all := Checks()
	for _, c := range slices.Backward(all) {
		if chosen[c.ID] || out[c.ID] {
			for _, id := range c.after {
				out[id] = true
			}
		}
	}
	return out
}

// try runs a check if what it needs has passed.
func (s *subject) try(ctx context.Context, c Check) finding {
	for _, id := range c.after {
		switch s.found[id] {
		case Pass, Warn:
		case Fail:
			return skip("%s has failed", id)
		default:
			return skip("%s was skipped", id)
		}
	}
	for _, before := range Checks() {
		if s.found[before.ID] == Fail && matches(c.unless, before.ID) {
			return skip("%s has failed", before.ID)
		}
	}
	ctx, cancel := context.WithTimeoutCause(ctx, checkTimes*s.Timeout, fmt.Errorf("the check took longer than %v", checkTimes*s.Timeout))
	defer cancel()
	return c.run(ctx, s)
}

// describe adds to the report what is known of the plugin.
func (s *subject) describe(r *Report) {
	if s.about != nil {
		r.Plugin, r.Version = sanitize.Line(s.about.GetName(), 100), sanitize.Line(s.about.GetVersion(), 100)
		r.SDK, r.Tools = sanitize.Line(s.about.GetSdk(), 100), len(s.about.GetTools())
	}
	for _, c := range s.calls {
		if c.tried && !slices.Contains(r.Called, c.def.Name) {
			r.Called = append(r.Called, c.def.Name)
		}
	}
}
