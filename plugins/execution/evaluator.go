package main

import (
	"context"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/compile"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/execution/internal/tempdir"
	"github.com/toolhost/toolhost/plugins/internal/source"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// evaluator is the plugin: the workspace, what bounds programs, and who has
// called. It is safe for concurrent use once it is configured.
type evaluator struct {
	runner   runner
	cache    *gocmd.Cache
	compiler *compile.Compiler
	sessions session.Sessions
	slots    chan struct{} // holds one element for each form that is compiled or run
}

func newEvaluator(cache *gocmd.Cache) *evaluator {
	return &evaluator{
		runner:   runner{limits: defaultLimits()},
		cache:    cache,
		compiler: compile.New("", cache),
		slots:    make(chan struct{}, max(2, runtime.NumCPU())),
	}
}

// configure sets the root and the limits.
func (e *evaluator) configure(c pluginsdk.Config) error {
	l, err := parseLimits(c.JSON)
	if err != nil {
		return err
	}
	root, err := source.OpenRoot(c.Root)
	if err != nil {
		return err
	}
	e.runner.root, e.runner.limits, e.compiler = string(root), l, compile.New(root, e.cache)
	tempdir.Sweep(tempdir.Base())
	return nil
}

// session returns the session of a call, locked.
func (e *evaluator) session(ctx context.Context) (s *session.Session, unlock func(), err error) {
	s = e.sessions.Get(tool.CallFrom(ctx).Session)
	unlock, err = s.Lock(ctx)
	return s, unlock, err
}

// record lets do work on the next form of the calling session, after the session's
// other forms, and records the outcome in the session.
func (e *evaluator) record(
	ctx context.Context, name string, in formIn, do func(context.Context, *job) (outcome, error),
) error {
	s, unlock, err := e.session(ctx)
	if err != nil {
		return err
	}
	defer unlock()
	select {
	case e.slots <- struct{}{}: // compiling and running take whole processors
		defer func() { <-e.slots }()
	case <-ctx.Done():
		return ctx.Err()
	}
	temp, remove, err := tempdir.New()
	if err != nil {
		return err
	}
	defer remove()
	s.Forms++
	start := time.Now()
	begin := func() *compile.Compilation { return e.compiler.Start(s, temp) }
	j := &job{
		compilation: begin(), start: begin, finder: e.compiler.Finder, temp: temp, number: s.Forms,
		anonymous: tool.CallFrom(ctx).Session == "",
	}
	done, err := do(ctx, j)
	if err != nil {
		done = outcome{kind: "other", message: err.Error(), result: err.Error()}
	}
	pkg, began := j.pkg(in.Package), start.UTC().Format(time.RFC3339)
	s.Add(session.Entry{
		Number: j.number, Tool: name, Package: pkg, Form: in.Form, OK: done.ok, Result: done.result,
		Time: began, Took: time.Since(start).Round(time.Millisecond).String(),
	})
	if !done.ok {
		s.Fail(session.Failure{
			Number: j.number, Tool: name, Package: pkg, Form: in.Form,
			Kind: done.kind, Message: done.message, Stack: done.stack, Time: began,
		})
	}
	return err
}
