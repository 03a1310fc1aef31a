package main

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/toolhost/toolhost/bench/internal/work"
)

var (
	processCall = figure{"process_call_ms", "a new process that starts a plugin, or asks a daemon, and calls a tool, ms"}
	versionCPU  = figure{"version_cpu_ms", "CPU of toolhost version, ms"}
	atStart     = figure{"allocations_at_start", "allocations of toolhost before main"}
)

// The ways in which a new process calls a tool.
const (
	alone      = "toolhost"
	configured = "toolhost-file"   // with a configuration
	client     = "toolhost-daemon" // of a daemon, which runs the plugin already
)

// configuration is what an operator's usually has.
const configuration = `callers:
  cli: {grants: ["` + work.Permission + `"]}
defaults: {idle_time: 5m, call_timeout: 30s}
plugins:
  bench: {sandbox: {read: none, write: [workspace], net: none, exec: none}}
`

// coldCall is one call by a new process, plugin and all: toolhost call, with its
// audit log on disk as it has by default, against a program that uses go-plugin.
func coldCall() measurement {
	j := work.Small()
	args := string(j.Arguments)
	ways := map[string]func(context.Context) (string, error){}
	once := func(ctx context.Context, name string) error {
		out, err := ways[name](ctx)
		if err == nil {
			err = j.Check(out)
		}
		return err
	}
	against := func(name string) func(*results) float64 {
		return func(r *results) float64 { return r.ratio(processCall, name, bareUnary) }
	}
	return measurement{
		name: "cold-call",
		start: func(ctx context.Context, b *bench) error {
			dir, err := b.plugins("one", "hosted", "bench")
			if err != nil {
				return err
			}
			file := filepath.Join(b.dir, "one.yaml")
			if err := os.WriteFile(file, []byte(configuration), 0o600); err != nil {
				return err
			}
			call := func(socket string, more ...string) *exec.Cmd {
				cmd := b.toolhost(append([]string{"call", j.Tool, args, "--plugin-dir", dir}, more...)...)
				cmd.Env = append(cmd.Env, "TOOLHOST_SOCKET="+filepath.Join(b.dir, socket), "XDG_STATE_HOME="+dir+"-state")
				return cmd
			}
			ways[alone] = func(ctx context.Context) (string, error) { return run(ctx, call("none", "--grant", work.Permission)) }
			ways[configured] = func(ctx context.Context) (string, error) { return run(ctx, call("none", "--config", file)) }
			ways[client] = func(ctx context.Context) (string, error) { return run(ctx, call("daemon", "--grant", work.Permission)) }
			ways[bareUnary] = func(ctx context.Context) (string, error) {
				return execute(ctx, b.dir, nil, b.binary("barecall"), b.binary("bare"), j.Tool, args)
			}
			if err := b.startDaemon(ctx, filepath.Join(b.dir, "daemon"), dir); err != nil {
				return err
			}
			for name := range ways { // fills the cache
				if err := once(ctx, name); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			var said bytes.Buffer
			cmd := call("daemon", "--grant", work.Permission)
			cmd.Stderr = &said
			if err := cmd.Run(); err != nil || said.Len() > 0 {
				return fmt.Errorf("the daemon is not what was called: %w\n%s", err, said.Bytes())
			}
			return nil
		},
		measure: func(ctx context.Context, b *bench) error {
			var all []event
			for _, name := range []string{bareUnary, alone, configured, client} {
				all = append(all, event{name, func() (float64, error) { return timed(func() error { return once(ctx, name) }) }})
			}
			if err := b.alternate(processCall, all...); err != nil {
				return err
			}
			return b.measureVersion()
		},
		keys: []key{
			{name: "cold_call", about: "toolhost call, new process, warm cache, against a go-plugin program that does the same", target: 1.9, value: against(alone)},
			{name: "cold_call_file", about: "the same with a toolhost.yaml (callers, defaults, a sandbox)", target: 2, value: against(configured)},
			{name: "cold_call_daemon", about: "the same through a daemon", target: 1, value: against(client)},
			{name: "version_cpu_ms", about: "toolhost version, processor time, ms", target: 12, value: func(r *results) float64 { return r.median(versionCPU, alone) }},
			{name: "allocations_at_start", about: "allocations before main", target: 21_000, value: func(r *results) float64 { return r.median(atStart, alone) }},
		},
	}
}

// startDaemon starts one, and returns when it is ready.
func (b *bench) startDaemon(ctx context.Context, socket, plugins string) error {
	cmd := b.toolhost("serve", "--grant", work.Permission, "--plugin-dir", plugins, "--socket", socket)
	if err := cmd.Start(); err != nil {
		return err
	}
	b.cleanup(func() {
		_ = cmd.Process.Signal(os.Interrupt)
		_ = cmd.Wait()
	})
	_, err := run(ctx, b.toolhost("status", "--wait", "10s", "--socket", socket))
	return err
}

// run runs a command to its end and gives what it printed.
func run(ctx context.Context, cmd *exec.Cmd) (string, error) {
	return execute(ctx, cmd.Dir, cmd.Env, cmd.Path, cmd.Args[1:]...)
}

var initialized = regexp.MustCompile(`(?m)^init .* (\d+) allocs$`)

// measureVersion is a command that does nothing.
func (b *bench) measureVersion() error {
	var took []float64
	for range b.sizes.repeats {
		cmd := b.toolhost("version")
		if err := cmd.Run(); err != nil {
			return err
		}
		took = append(took, milliseconds(cmd.ProcessState.UserTime()+cmd.ProcessState.SystemTime()))
	}
	b.add(versionCPU, alone, took...)
	cmd := b.toolhost("version")
	cmd.Env = append(cmd.Env, "GODEBUG=inittrace=1")
	out, err := cmd.CombinedOutput()
	sum := 0
	for _, m := range initialized.FindAllSubmatch(out, -1) {
		n, failed := strconv.Atoi(string(m[1]))
		sum, err = sum+n, errors.Join(err, failed)
	}
	b.add(atStart, alone, float64(sum))
	return err
}
