package main

import (
	"context"
	"path/filepath"

	"github.com/toolhost/toolhost/bench/internal/work"
)

var processCall = figure{"process_call_ms", "a new process that starts a plugin and calls a tool, ms"}

// coldCall is one call by a new process, plugin and all: toolhost call, with its
// audit log on disk as it has by default, against a program that uses go-plugin.
func coldCall() measurement {
	var hosted, own func(context.Context) error
	return measurement{
		name: "cold-call",
		start: func(ctx context.Context, b *bench) error {
			dir, err := b.plugins("one", "hosted", "bench")
			if err != nil {
				return err
			}
			j := work.Small()
			args := string(j.Arguments)
			env := []string{cacheVariable + "=" + filepath.Join(b.dir, "cache"), auditVariable + "=" + filepath.Join(b.dir, "audit.jsonl")}
			hosted = func(ctx context.Context) error {
				out, err := execute(ctx, b.binary(""), env, b.binary("toolhost"), "call", j.Tool, args, "--grant", work.Permission, "--plugin-dir", dir)
				if err != nil {
					return err
				}
				return j.Check(out)
			}
			own = func(ctx context.Context) error {
				out, err := execute(ctx, b.dir, nil, b.binary("barecall"), b.binary("bare"), j.Tool, args)
				if err != nil {
					return err
				}
				return j.Check(out)
			}
			if err := hosted(ctx); err != nil { // fills the cache
				return err
			}
			return own(ctx)
		},
		measure: func(ctx context.Context, b *bench) error {
			return b.alternate(processCall,
				event{"toolhost", func() (float64, error) { return timed(func() error { return hosted(ctx) }) }},
				event{bareUnary, func() (float64, error) { return timed(func() error { return own(ctx) }) }},
			)
		},
		keys: []key{{
			name: "cold_call", about: "toolhost call, new process, warm cache, against a go-plugin program that does the same", target: 1.15,
			value: func(r *results) float64 { return r.ratio(processCall, "toolhost", bareUnary) },
		}},
	}
}
