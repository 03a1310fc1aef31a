package main

import (
	"encoding/json"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"runtime"
	"runtime/debug"
	"slices"
	"time"
)

// report is the outcome of a run.
type report struct {
	*results
	machine  machine
	variants []*variant
	keys     []judged
}

// machine is where and how it was measured.
type machine struct {
	Date    string `json:"date"`
	Cores   int    `json:"cores"`
	OS      string `json:"goos"`
	Arch    string `json:"goarch"`
	Go      string `json:"go"`
	Plugin  string `json:"go_plugin"`
	MCP     string `json:"mcp_go_sdk"`
	Rounds  int    `json:"rounds"`
	Seconds int    `json:"seconds"`
}

// judged is a key and what was measured.
type judged struct {
	key
	measured float64
}

// report judges a run. A key that has no value is a failure: a hole in
// a table is easily missed.
func (b *bench) report() (*report, error) {
	r := &report{results: b.results, variants: b.variants, machine: machine{
		Date: time.Now().UTC().Format(time.DateOnly), Cores: runtime.NumCPU(), OS: runtime.GOOS, Arch: runtime.GOARCH,
		Go: runtime.Version(), Plugin: version("github.com/hashicorp/go-plugin"), MCP: version("github.com/modelcontextprotocol/go-sdk"),
		Rounds: b.rounds, Seconds: int(time.Since(b.began).Seconds()),
	}}
	for _, m := range b.chosen {
		for _, k := range m.keys {
			v := k.value(b.results)
			if math.IsNaN(v) || math.IsInf(v, 0) || v < 0 || v == 0 && !k.count {
				return nil, fmt.Errorf("%s came out as %v", k.name, v)
			}
			r.keys = append(r.keys, judged{k, significant(v)}) // judged is what latest.json has
		}
	}
	return r, nil
}

// version is that of a module in this program.
func version(module string) string {
	if info, ok := debug.ReadBuildInfo(); ok {
		for _, m := range info.Deps {
			if m.Path == module {
				return m.Version
			}
		}
	}
	return "unknown"
}

// MarshalJSON writes the keys as numbers, and next to them what they are made of.
func (r *report) MarshalJSON() ([]byte, error) {
	details := map[string]map[string]spread{}
	for _, f := range r.figures {
		details[f.name] = map[string]spread{}
		for v, all := range r.values[f] {
			details[f.name][v] = spread{significant(r.median(f, v)), significant(slices.Min(all)), significant(slices.Max(all))}
		}
	}
	all := map[string]any{"details": details, "machine": r.machine}
	for _, k := range r.keys {
		all[k.name] = k.measured
	}
	return json.Marshal(all)
}

// spread is a figure over the rounds.
type spread struct {
	Median float64 `json:"median"`
	Least  float64 `json:"least"`
	Most   float64 `json:"most"`
}

// significant keeps four digits: more would be noise.
func significant(v float64) float64 {
	if v == 0 {
		return 0
	}
	scale := math.Pow(10, 3-math.Floor(math.Log10(math.Abs(v))))
	return math.Round(v*scale) / scale
}

// write puts latest.json, latest.md and latest.svg into a directory.
func (r *report) write(dir string) error {
	text, err := json.MarshalIndent(r, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(dir, 0o755); err != nil {
		return err
	}
	for _, f := range []struct {
		name string
		text []byte
	}{
		{"latest.json", append(text, '\n')},
		{"latest.md", []byte("# Benchmarks\n\n![p50 and throughput](latest.svg)\n\n" + r.markdown())},
		{"latest.svg", []byte(r.chart())},
	} {
		if err := os.WriteFile(filepath.Join(dir, f.name), f.text, 0o644); err != nil { //nolint:gosec // documentation is for everybody
			return err
		}
	}
	return nil
}
