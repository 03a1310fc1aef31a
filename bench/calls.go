package main

import (
	"context"
	"time"

	"github.com/toolhost/toolhost/bench/internal/work"
)

var (
	p50         = figure{"p50_us", "p50, one caller, µs"}
	p99         = figure{"p99_us", "p99, one caller, µs"}
	cpuOne      = figure{"cpu_us", "CPU per call, both processes, one caller, µs"}
	p50Load     = figure{"p50_64_us", "p50, 64 callers, µs"}
	p99Load     = figure{"p99_64_us", "p99, 64 callers, µs"}
	rateLoad    = figure{"calls_per_s_64", "calls/s, 64 callers"}
	cpuLoad     = figure{"cpu_64_us", "CPU per call, both processes, 64 callers, µs"}
	p50Medium   = figure{"p50_64k_us", "64 KiB result, p50, µs"}
	p50Large    = figure{"p50_8m_us", "8 MiB result, p50, µs"}
	manyCallers = 64
)

// latency is one caller with small calls.
func latency() measurement {
	return measurement{
		name: "latency",
		measure: perVariant(slot{job: work.Small(), callers: 1, length: 600 * time.Millisecond, least: 10},
			func(b *bench, v *variant, d driven) {
				b.add(p50, v.name, d.p50())
				b.add(p99, v.name, d.p99())
				b.add(cpuOne, v.name, d.each())
			}),
		keys: []key{
			{name: "p50_socket", about: "p50, one caller, socket", target: .25, value: toBare(p50, toolhostSocket)},
			{name: "p50_stream", about: "p50, one caller, stream", target: .62, value: toBare(p50, toolhostStream)},
			{name: "p50_vs_mcp", about: "p50, one caller, socket, against MCP", target: .18, value: toMCP(p50, toolhostSocket)},
		},
	}
}

// load is many callers with small calls.
func load() measurement {
	return measurement{
		name: "load",
		measure: perVariant(slot{job: work.Small(), callers: manyCallers, length: time.Second, least: 2},
			func(b *bench, v *variant, d driven) {
				b.add(rateLoad, v.name, d.rate())
				b.add(p50Load, v.name, d.p50())
				b.add(p99Load, v.name, d.p99())
				b.add(cpuLoad, v.name, d.each())
			}),
		keys: []key{
			{name: "p99_64_socket", about: "p99, 64 callers, socket", target: .18, value: toBare(p99Load, toolhostSocket)},
			{name: "p99_64_stream", about: "p99, 64 callers, stream", target: .25, value: toBare(p99Load, toolhostStream)},
			{name: "tput64_socket", about: "throughput, 64 callers, socket", target: 5, least: true, value: toBare(rateLoad, toolhostSocket)},
			{name: "tput64_stream", about: "throughput, 64 callers, stream", target: 4.2, least: true, value: toBare(rateLoad, toolhostStream)},
			{name: "cpu64_socket", about: "CPU per call, host and plugin, 64 callers, socket", target: .18, value: toBare(cpuLoad, toolhostSocket)},
			{name: "tput64_vs_mcp", about: "throughput, 64 callers, socket, against MCP", target: 20, least: true, value: toMCP(rateLoad, toolhostSocket)},
		},
	}
}

// size64K is one caller with a result of 64 KiB.
func size64K() measurement {
	return sized("size-64k", p50Medium, slot{job: work.Sized(work.Medium), callers: 1, length: 300 * time.Millisecond, least: 5},
		key{name: "p50_64k", about: "64 KiB result, p50, socket", target: .35})
}

// size8M is one caller with a result of 8 MiB, of which MCP does two in a second.
func size8M() measurement {
	return sized("size-8m", p50Large, slot{job: work.Sized(work.Large), callers: 1, length: 400 * time.Millisecond, least: 1},
		key{name: "p50_8m", about: "8 MiB result, p50, socket", target: .50})
}

func sized(name string, f figure, s slot, k key) measurement {
	k.value = toBare(f, toolhostSocket)
	return measurement{
		name:    name,
		measure: perVariant(s, func(b *bench, v *variant, d driven) { b.add(f, v.name, d.p50()) }),
		keys:    []key{k},
	}
}

// perVariant drives one after the other in the same way.
func perVariant(s slot, note func(*bench, *variant, driven)) func(context.Context, *bench) error {
	return func(ctx context.Context, b *bench) error {
		return b.eachVariant(func(v *variant) error {
			d, err := b.drive(ctx, v, s)
			if err == nil {
				note(b, v, d)
			}
			return err
		})
	}
}

func toBare(f figure, variant string) func(*results) float64 {
	return func(r *results) float64 { return r.ratio(f, variant, bareUnary) }
}

func toMCP(f figure, variant string) func(*results) float64 {
	return func(r *results) float64 { return r.ratio(f, variant, mcpStdio) }
}
