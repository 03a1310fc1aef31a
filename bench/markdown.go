package main

import (
	"fmt"
	"math"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/bench/internal/chart"
)

// column is a figure in the table of variants.
type column struct {
	figure
	head    string
	divisor float64 // from the figure's unit to the column's
	ratio   bool    // with its ratio to bare
}

var columns = []column{
	{p50, "p50 µs", 1, true},
	{p99, "p99", 1, false},
	{rateLoad, "64 callers: 1000 calls/s", 1e3, true},
	{p99Load, "64: p99 µs", 1, true},
	{cpuLoad, "64: CPU µs/call", 1, true},
	{p50Medium, "64 KiB p50 µs", 1, true},
	{p50Large, "8 MiB p50 ms", 1e3, true},
}

// markdown is the whole report.
func (r *report) markdown() string {
	var b strings.Builder
	m := r.machine
	fmt.Fprintf(&b, "%s, %d cores, %s/%s, %s, go-plugin %s, MCP go-sdk %s; medians of %d interleaved rounds, %d s in all.\n",
		m.Date, m.Cores, m.OS, m.Arch, m.Go, m.Plugin, m.MCP, m.Rounds, m.Seconds)
	b.WriteString("×bare is the median of each round's ratio to go-plugin's unary call in the same round.\n")
	r.writeVariants(&b)
	r.writeOthers(&b)
	r.writeAttacks(&b)
	r.writeKeys(&b)
	return b.String()
}

// writeVariants writes a row for each variant. Columns that were not measured are
// left out.
func (r *report) writeVariants(b *strings.Builder) {
	var shown []column
	for _, c := range columns {
		if slices.Contains(r.figures, c.figure) {
			shown = append(shown, c)
		}
	}
	if len(shown) == 0 {
		return
	}
	head, line := "\n| | |", "|---|---|"
	for _, c := range shown {
		head, line = head+" "+c.head+" |", line+"--:|"
		if c.ratio {
			head, line = head+" ×bare |", line+"--:|"
		}
	}
	b.WriteString(head + "\n" + line + "\n")
	for _, v := range r.variants {
		fmt.Fprintf(b, "| **%s** | %s |", v.name, v.about)
		for _, c := range shown {
			fmt.Fprintf(b, " %s |", number(r.median(c.figure, v.name)/c.divisor))
			if c.ratio {
				fmt.Fprintf(b, " %s |", number(significant(r.ratio(c.figure, v.name, bareUnary))))
			}
		}
		b.WriteString("\n")
	}
}

// writeOthers writes the figures that have no column, and what they are for each variant that has one.
func (r *report) writeOthers(b *strings.Builder) {
	head := "\n| | |\n|---|---|\n"
	for _, f := range r.figures {
		if slices.ContainsFunc(columns, func(c column) bool { return c.figure == f }) || slices.Contains(attackFigures, f) {
			continue
		}
		var values []string
		for _, name := range slices.Sorted(slices.Values(r.names[f])) {
			values = append(values, name+" "+number(r.median(f, name)))
		}
		fmt.Fprintf(b, "%s| %s | %s |\n", head, f.about, strings.Join(values, ", "))
		head = ""
	}
}

// writeAttacks writes a row for each attack on a plugin's neighbour.
func (r *report) writeAttacks(b *strings.Builder) {
	if len(r.names[attacked]) == 0 {
		return
	}
	fmt.Fprintf(b, "\n| next to a plugin that | p99 before, µs | meanwhile, µs | × | CPU of that plugin, cores | |\n"+
		"|---|--:|--:|--:|--:|---|\n")
	for _, a := range attacks() {
		fmt.Fprintf(b, "| %s | %s | %s | %s | %s | %s |\n", a.about, number(r.median(unattacked, a.name)), number(r.median(attacked, a.name)),
			number(significant(a.ratio(r.results))), number(r.median(attackCPU, a.name)), a.note())
	}
}

// writeKeys writes what was to be reached, and whether it is.
func (r *report) writeKeys(b *strings.Builder) {
	b.WriteString("\n| key | | target | measured | |\n|---|---|--:|--:|---|\n")
	for _, k := range r.keys {
		sign, verdict := "≤", "**not met**"
		if k.least {
			sign = "≥"
		}
		if k.met(k.measured) {
			verdict = "met"
		}
		target := fmt.Sprint(sign, " ", k.target)
		if k.shown {
			target, verdict = "–", ""
		}
		fmt.Fprintf(b, "| `%s` | %s | %s | %s | %s |\n", k.name, k.about, target, k.text(), verdict)
	}
}

// text is what was measured, with the digits that tell it from a target that it misses: 0.6248 is not 0.62.
func (k judged) text() string {
	text := number(k.measured)
	for digits := 2; ; digits++ {
		if shown, err := strconv.ParseFloat(text, 64); err != nil || k.met(shown) == k.met(k.measured) {
			return text
		}
		text = strconv.FormatFloat(k.measured, 'f', digits, 64)
	}
}

// number writes three digits or a few more, and a dash if there is no value.
func number(v float64) string {
	digits := 0
	switch {
	case math.IsNaN(v):
		return "–"
	case v < .1:
		digits = 3
	case v < 10:
		digits = 2
	case v < 100:
		digits = 1
	}
	scale := math.Pow10(digits) // 1.845 is 1.85, although its nearest float64 is below that
	return strconv.FormatFloat(math.Round(v*scale)/scale, 'f', digits, 64)
}

// way is a bar of the picture: one of the ways to give an agent a tool.
type way struct {
	about, variant string
	one, many      figure
	own            bool
}

var ways = []way{
	{"a program on go-plugin alone", bareUnary, p50, rateLoad, false},
	{"an MCP server of the SDK, stdio", sdkStdio, served, servedRate, false},
	{"an MCP server of the SDK, HTTP", sdkHTTP, served, servedRate, false},
	{"toolhost in a program, its plugin", toolhostSocket, p50, rateLoad, true},
	{"toolhost as MCP server, stdio, its plugin", servedStdio, served, servedRate, true},
	{"toolhost as MCP server, HTTP, its plugin", servedHTTP, served, servedRate, true},
	{"toolhost as MCP server, stdio, which mounts the SDK's", servedMounted, served, servedRate, true},
}

// chart draws what most people want to know.
func (r *report) chart() string {
	panels := []chart.Panel{
		{Title: "One caller: p50 of a call, µs (shorter is better)"},
		{Title: "64 callers: thousand calls a second (longer is better)"},
		{Title: "One call by a new process, ms (shorter is better)"},
	}
	add := func(panel int, about string, value float64, own bool) {
		if !math.IsNaN(value) { // else it was not measured
			panels[panel].Bars = append(panels[panel].Bars, chart.Bar{Label: about, Value: value, Text: number(value), Own: own})
		}
	}
	for _, w := range ways {
		add(0, w.about, r.median(w.one, w.variant), w.own)
		add(1, w.about, r.median(w.many, w.variant)/1e3, w.own)
	}
	for _, c := range []struct{ about, variant string }{
		{ways[0].about, bareUnary}, {"toolhost call", alone}, {"toolhost call with a toolhost.yaml", configured}, {"toolhost call to a daemon", client},
	} {
		add(2, c.about, r.median(processCall, c.variant), c.variant != bareUnary)
	}
	m := r.machine
	return chart.Draw("The same small call, by ways to give an agent a tool",
		fmt.Sprintf("%s, %d cores, %s/%s, %s; medians of %d interleaved rounds", m.Date, m.Cores, m.OS, m.Arch, m.Go, m.Rounds), panels)
}
