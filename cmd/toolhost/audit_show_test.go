package main

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// newestCall is the ID of the newest call of a caller that has ended.
func (w *world) newestCall(caller, tool string) string {
	w.t.Helper()
	var e audit.Entry
	w.bare("audit", "--caller", caller, "--tool", tool, "--json", "-n", "1").exits(0).json(&e)
	return e.Call
}

// Five calls are slow for five reasons, and one command names each.
func TestAuditShowSaysWhyACallWasSlow(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("call", "play.echo").exits(0) // its tools are remembered
	w.run("call", "play.echo").exits(0)
	cold := w.newestCall("cli", "play.echo")

	w.configure("plugins: {player: {limits: {running: 1}}}", "callers:", "  cli: {ask: [queue]}", "  ci: {}")
	f := w.serveMCP("--config", w.config())
	token := w.token("ci")
	const long = time.Second // which no busy machine takes for anything else
	// queued starts a call while another one runs, and lets that end.
	queued := func(first func(*work) (ended func())) string {
		t.Helper()
		work := newWork(t)
		ended := first(work)
		w.until("it runs", func() bool { return work.runs() == 1 })
		_, echoed := w.start("", "call", "play.echo", "--plugin-dir", w.plugins)
		w.until("the next one waits", func() bool { return w.status("player").Waiting == 1 })
		time.Sleep(long)
		work.mayEnd()
		(<-echoed).exits(0)
		ended()
		return w.newestCall("cli", "play.echo")
	}
	others := queued(func(work *work) func() {
		ended := make(chan taskAnswer, 1)
		go func() {
			ended <- f.tasked(token, "", "tools/call", "play_run", `"name":"play_run","arguments":`+work.call())
		}()
		return func() { <-ended }
	})
	own := queued(func(work *work) func() {
		_, ended := w.start("", "call", "play.run", work.call(), "--plugin-dir", w.plugins)
		return func() { (<-ended).exits(0) }
	})
	worked := w.newestCall("cli", "play.run")
	u, q := w.queued("call", "play.danger")
	time.Sleep(long)
	w.run("approvals", "approve", q.ID).exits(0)
	(<-u.ended).exits(0)
	asked := w.newestCall("cli", "play.danger")

	for id, want := range map[string][]string{
		cold:   {"Its plugin was started, which took ", "started"},
		others: {"for its turn, behind 1 call of others (limits.running of the plugin player).", "queued"},
		own:    {"for its turn, behind 1 call of its own caller (limits.running of the plugin player).", "queued"},
		worked: {"The tool itself worked ", "ran"},
		asked:  {"A person or program took ", "asked"},
	} {
		w.bare("audit", "show", id).exits(0).prints(want[0], "call:          "+id, "caller:        cli")
		w.bare("audit", "--phase", want[1]).exits(0).prints(id)
	}
	w.bare("audit", "show", asked).exits(0).prints("to say yes.", "decision:      approved by ")
}

// show draws nested, repeated, running, forwarded and refused calls, and finds them by the beginning of an ID.
func TestAuditShow(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	second := tool.Duration(time.Second)
	at := func(n int) func(*audit.Record) {
		return func(r *audit.Record) { r.Time = auditTime.Add(time.Duration(n) * time.Second) }
	}
	change := func(all ...func(*audit.Record)) func(*audit.Record) {
		return func(r *audit.Record) {
			for _, one := range all {
				one(r)
			}
		}
	}
	writeAudit(t, path,
		change(at(0), func(r *audit.Record) { r.Event, r.Call, r.Duration = audit.Begin, "aaaa-1", 0 }),
		change(at(3), func(r *audit.Record) {
			r.Call, r.Parent, r.Tool, r.Duration = "aaaa-2", "aaaa-1", "web.get", 2*second
		}),
		change(at(4), func(r *audit.Record) {
			r.Event, r.Call, r.Message, r.Decision, r.Duration = audit.Question, "aaaa-1", "elicitation", "accept", 0
		}),
		change(at(5), func(r *audit.Record) {
			r.Call, r.Duration, r.Trace, r.Account, r.Attempts = "aaaa-1", 5*second, strings.Repeat("ab", 16), "b", 2
			r.Phases = &policy.Phases{Ran: 4 * second, Sent: second / 2, BytesIn: 2048, EstimatedTokens: 512}
			r.Input = json.RawMessage(`{"path":"notes.txt"}`)
		}),
		change(at(6), func(r *audit.Record) { r.Call, r.Parent = "aaaa-3", "aaaa-2"; r.Code = tool.CodeCrashed }),
		change(at(7), func(r *audit.Record) {
			r.Call, r.Duration = "bbbb-1", 3*second
			r.Phases = &policy.Phases{Ran: 3 * second, On: "east", There: &policy.Phases{Queued: 2 * second, Ahead: 3, Own: 1}}
		}),
		change(at(8), func(r *audit.Record) { r.Event, r.Call, r.Duration = audit.Begin, "cccc-1", 0 }),
		change(at(9), func(r *audit.Record) {
			r.Call, r.Tool, r.Code, r.Message, r.Decision = "dddd-1", "<b>evil\x1b[2J\u202e", tool.CodeNotFound, "Unknown \x1b]0;x\a<script>", ""
			r.Caller, r.Client, r.Approver = "=HYPERLINK(1)\u202e", "\x1b[31mred", "<img src=x>\x1b[1m"
			r.Phases = &policy.Phases{On: "\u202ex", There: &policy.Phases{}}
		}),
	)
	show := func(id string) outcome { return w.bare("audit", "show", id, "--file", path).exits(0) }
	o := show("aaaa-1").prints("The tool itself worked 4.000 s; the calls that it made took 2.000 s.", "attempts:      2", "2.0 KiB in, 0 B out, about 512 tokens",
		"caller:        cli of b", `input:         {"path":"notes.txt"}`, "question:      elicitation: accept", "trace:         abab", "decision:      allowed by the caller's grants")
	o.prints("sent     500.0 ms  10.0%  ████\n", "ran      4.000 s   80.0%      ████████████████████████████████\n")
	o.prints("web.get      ok       1.000 s  2.000 s  aaaa-2          ████████████████\n", "  fs.read    crashed  ")
	show("bbbb").prints("The host east took 3.000 s. There: It waited 2.000 s for its turn, behind 2 calls of others", "  on east\n", "  queued   2.000 s  66.7%")
	show("cccc").prints("It has not ended", "result:        not ended")
	var got call
	w.bare("audit", "show", "aaaa-1", "--json", "--file", path).exits(0).json(&got)
	equal(t, "the calls", fmt.Sprintln(len(got.Lines), got.Ended, got.Calls[0].ID, got.Calls[0].Calls[0].ID), "3 true aaaa-2 aaaa-3\n")
	w.bare("audit", "show", "aaaa", "--file", path).exits(2).says(`several calls have IDs that begin with "aaaa": aaaa-1, aaaa-2, aaaa-3`)
	w.bare("audit", "show", "nope\x1b[2J", "--file", path).exits(3).says("has no call", "toolhost audit shows the IDs")
	w.bare("audit", "show", "x", "--file", path+".none").exits(1).says("there is no audit log")

	for _, args := range [][]string{
		{"show", "dddd-1"}, {"--sum", "tool,caller,client"}, {"--sum", "tool,caller,client", "--format", "csv"}, {"--format", "csv"}, {"--slowest", "9"}, {"show", "dddd", "--json"},
	} {
		o := w.bare(append(append([]string{"audit"}, args...), "--file", path)...).exits(0).prints("evil")
		if strings.ContainsAny(o.stdout, "\x1b\a\u202e") {
			t.Errorf("%q prints what changes a terminal: %q", args, o.stdout)
		}
		if !strings.Contains(strings.Join(args, " "), "csv") {
			continue
		}
		rows := require.Must(csv.NewReader(strings.NewReader(o.stdout)).ReadAll())(t)
		for _, row := range rows {
			for _, cell := range row {
				if strings.ContainsAny(cell[:min(1, len(cell))], "=+-@") {
					t.Errorf("%q has the formula %q", args, cell)
				}
			}
		}
	}
}

// Sums, filters and formats of lines.
func TestAuditSums(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	second := tool.Duration(time.Second)
	writeAudit(t, path,
		func(r *audit.Record) { r.Duration, r.Phases = second, &policy.Phases{Ran: second, BytesOut: 10} },
		func(r *audit.Record) {
			r.Duration, r.Code, r.Phases = 3*second, tool.CodeCrashed, &policy.Phases{Queued: 2 * second}
		},
		func(r *audit.Record) {
			r.Tool, r.Caller, r.Refusals, r.Code = "a", "bob", 7, tool.CodeResourceExhausted
		},
		func(r *audit.Record) { r.Event = audit.Begin },
	)
	run := func(line string, status int) outcome {
		return w.bare(append(strings.Fields("audit "+line), "--file", path)...).exits(status)
	}
	run("--sum tool,caller", 0).prints("TOOL     CALLER  CALLS  FAILED  TIME     SHARE   P50", "fs.read  cli     2      1       4.000 s  100.0%", "a        bob     7      7       1.5 ms   0.0%")
	var row auditSum
	run("--sum code --code ok --json", 0).json(&row)
	equal(t, "the sum", fmt.Sprint(row.By, row.Calls, row.BytesOut, time.Duration(row.Max)), "map[code:ok] 1 10 1s")
	run("--sum day,phase --format csv -n 1", 0).prints("day,phase,calls,failed,time_ms", auditTime.Local().Format(time.DateOnly)+",,7,7,1.5,")
	for line, want := range map[string]string{
		"--slower-than 2s":             "c1",
		"--slower-than 1s --phase ran": "c0",
		"--phase queued":               "c1",
		"--slowest 2":                  "c1 c0",
		"--slowest 2 --code ok":        "c0",
		"--slower-than 1s -n 1":        "c1",
	} {
		var got []string
		for l := range strings.Lines(run(line+" --format jsonl", 0).stdout) {
			var e audit.Entry
			require.NoError(t, json.Unmarshal([]byte(l), &e))
			got = append(got, e.Call)
		}
		equal(t, "audit "+line, strings.Join(got, " "), want)
	}
	rows := require.Must(csv.NewReader(strings.NewReader(run("--format csv", 0).stdout)).ReadAll())(t)
	equal(t, "the rows", fmt.Sprintln(len(rows), rows[2][1], rows[2][23], rows[2][27]), "5 end 3000 2000\n")
	run("--sum tool --tool nothing", 0).says("no line matches")
	for line, says := range map[string]string{
		"--sum nonsense": "is not a list of columns", "--format xml": "use text, csv or jsonl", "--phase slow": "use asked, retried",
		"--sum tool --follow": "exclude each other", "--slowest -1": "nothing below zero", "--sum tool --kind admin": "there is no --kind admin",
		"--unended --slower-than 1s": "--unended excludes",
	} {
		run(line, 2).says(says)
	}
}
