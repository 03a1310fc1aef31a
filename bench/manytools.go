package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var (
	firstList = figure{"many_first_list_ms", "the first tools/list of 10,000 tools of mounted servers, ms"}
	laterList = figure{"many_later_list_ms", "a later tools/list of them, ms"}
	manyRSS   = figure{"many_rss_mib", "memory of toolhost (RSS) after these lists, MiB"}
	registers = figure{"register_10k_ms", "Host.Register of 10,000 tools, one by one, ms"}
	refreshed = figure{"refresh_100k_ms", "one of 100,000 attached tools changes, one comes and one goes, ms"}
)

// manyServers serve the many tools.
const manyServers = 10

// manyTools is what their number costs, in a few rounds.
func manyTools() measurement {
	var dir, file string
	median := func(f figure) func(*results) float64 {
		return func(r *results) float64 { return r.median(f, alone) }
	}
	return measurement{
		name: "many-tools",
		start: func(ctx context.Context, b *bench) (err error) {
			if dir, err = b.plugins("no-plugins", ""); err != nil {
				return err
			}
			config := "mcp_servers:\n"
			for i := range manyServers {
				config += fmt.Sprintf("  s%d: {command: %q, args: [%q]}\n", i, b.binary("mcp"), strconv.Itoa(b.sizes.tools/manyServers))
			}
			file = filepath.Join(b.dir, "many.yaml")
			if err := os.WriteFile(file, []byte(config), 0o600); err != nil {
				return err
			}
			return b.listMany(ctx, dir, file, true)
		},
		measure: func(ctx context.Context, b *bench) error {
			if b.round >= attackRounds {
				return nil
			}
			if err := b.listMany(ctx, dir, file, false); err != nil {
				return err
			}
			if err := b.registerMany(); err != nil || b.round > 0 {
				return err
			}
			return b.refreshMany(ctx)
		},
		keys: []key{
			{name: "tools_10k_first_ms", about: "10,000 tools of ten mounted servers: first tools/list, ms", target: 600, value: median(firstList)},
			{name: "tools_10k_later_ms", about: "later ones, ms", target: 150, value: median(laterList)},
			{name: "tools_10k_mib", about: "memory after them, MiB", target: 120, value: median(manyRSS)},
			{name: "register_10k_ms", about: "registering 10,000 tools, ms", target: 500, value: median(registers)},
			{name: "refresh_100k_ms", about: "one changed of 100,000 tools, ms", target: 20, value: median(refreshed)},
		},
	}
}

// listMany starts a server that mounts the others. The first time, these have to be waited for.
func (b *bench) listMany(ctx context.Context, dir, file string, wait bool) error {
	s, err := speak(ctx, b.serving(dir, "--config", file))
	if err != nil {
		return err
	}
	defer s.close()
	all := b.sizes.tools + manyServers*len(work.Tools)
	list := func() error {
		n, err := s.list(ctx)
		for wait && err == nil && n < all {
			n, err = s.list(ctx)
		}
		if err == nil && n != all {
			err = fmt.Errorf("%d of %d tools are listed", n, all)
		}
		return err
	}
	first, err := timed(list)
	if err != nil || wait {
		return err
	}
	later := make([]float64, 3)
	for i := range later {
		if later[i], err = timed(list); err != nil {
			return err
		}
	}
	memory, err := resident(s.cmd.Process.Pid)
	b.add(firstList, alone, first)
	b.add(laterList, alone, later...)
	b.add(manyRSS, alone, memory)
	return err
}

// resident is the memory of a process, in MiB.
func resident(pid int) (float64, error) {
	text, err := os.ReadFile(fmt.Sprintf("/proc/%d/status", pid))
	if err != nil {
		return 0, err
	}
	_, text, _ = bytes.Cut(text, []byte("VmRSS:"))
	var kib float64
	_, err = fmt.Sscan(string(text), &kib)
	return kib / 1024, err
}

func (b *bench) registerMany() error {
	h, err := host.New()
	if err != nil {
		return err
	}
	defer (&embedded{Host: h}).end()
	took, err := timed(func() error {
		for i := range b.sizes.tools {
			if err := h.Register(tool.Tool{
				Definition: tool.Definition{
					Name: work.Numbered(i), Description: work.Describe(work.Numbered(i)), Safety: tool.Safe, InputSchema: tool.Schema(work.Schema),
				},
				Handler: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, nil },
			}); err != nil {
				return err
			}
		}
		return nil
	})
	b.add(registers, alone, took)
	return err
}

// hostTests is the program of host's tests.
const hostTests = "host.test"

var perRefresh = regexp.MustCompile(`BenchmarkRefreshMany\S*\s+\d+\s+(\d+) ns/op`)

// refreshMany is a benchmark of host's tests: checked tools, as a fleet has them, are made only there.
func (b *bench) refreshMany(ctx context.Context) error {
	cmd := exec.CommandContext(ctx, b.binary(hostTests), "-test.run", "^$", "-test.bench", "^BenchmarkRefreshMany$", "-test.benchtime", "10x")
	cmd.Dir = b.dir
	cmd.Env = append(os.Environ(), fmt.Sprint("TOOLHOST_BENCH_TOOLS=", 10*b.sizes.tools))
	out, err := cmd.CombinedOutput()
	if err != nil {
		return fmt.Errorf("%w\n%s", err, out)
	}
	m := perRefresh.FindSubmatch(out)
	if m == nil {
		return fmt.Errorf("no figure in\n%s", out)
	}
	ns, err := strconv.ParseFloat(string(m[1]), 64)
	b.add(refreshed, alone, ns/1e6)
	return err
}
