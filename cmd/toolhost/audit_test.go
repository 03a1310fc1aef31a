package main

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// auditTime is a time of no zone's beginning.
var auditTime = time.Date(2026, 10, 11, 12, 30, 0, 250_000_000, time.UTC)

// writeAudit writes one line for each change of a record, and a second later
// each.
func writeAudit(t *testing.T, path string, changes ...func(*audit.Record)) {
	t.Helper()
	f := require.Must(audit.Open(path, audit.Options{}))(t)
	for i, change := range changes {
		r := audit.Record{
			Time: auditTime.Add(time.Duration(i) * time.Second), Event: audit.End, Call: fmt.Sprint("c", i), Caller: "cli", Session: "ABCDEFGHIJKLMNOP",
			Tool: "fs.read", Plugin: "fs", Decision: audit.Allowed, Attempts: 1, Duration: tool.Duration(1500 * time.Microsecond),
		}
		change(&r)
		require.NoError(t, f.Write(r))
	}
	require.NoError(t, f.Close())
}

// auditLog is a log with four calls.
func auditLog(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeAudit(t, path,
		func(*audit.Record) {},
		func(r *audit.Record) {
			r.Event, r.Tool, r.Decision, r.Duration = audit.Begin, "fs.write", audit.Approved, 0
			r.AskedArguments, r.AskedInput = audit.Digest([]byte("{}")), json.RawMessage("{}")
		},
		func(r *audit.Record) { r.Tool, r.Input = "fs.write", json.RawMessage(`{"path":"notes.txt"}`) },
		func(r *audit.Record) {
			r.Caller, r.Session, r.Code, r.Message = "", "", tool.CodeNotFound, "Unknown tool: fs.reed"
		},
	)
	return path
}

func TestAuditTail(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := auditLog(t)
	at := func(i int) string {
		return auditTime.Add(time.Duration(i) * time.Second).Local().Format("2006-01-02 15:04:05.000")
	}
	rows := []string{
		"TIME                     EVENT     WHAT                      CALLER    SESSION   RESULT              DURATION    CALL\n",
		at(0) + "  end       fs.read                   cli       ABCDEFGH  ok                  1.5 ms      c0\n",
		at(1) + "  begin     fs.write                  cli       ABCDEFGH  approved, modified  -           c1\n",
		at(2) + "  end       fs.write                  cli       ABCDEFGH  ok                  1.5 ms      c2\n",
		at(3) + "  end       fs.read                   -         -         not_found           1.5 ms      c3\n",
	}
	for _, line := range []string{"audit", "audit list", "audit -n 4", "audit --since 1000000h"} {
		o := w.bare(append(strings.Fields(line), "--file", path)...).exits(0)
		equal(t, line, o.stdout, strings.Join(rows, ""))
	}
	o := w.bare("audit", "-n", "1", "--file", path).exits(0)
	equal(t, "the last line", o.stdout, rows[0]+rows[4])
	o = w.bare("audit", "-n", "0", "--file", path).exits(0)
	equal(t, "no line", o.stdout+o.stderr, "")

	content := require.Must(os.ReadFile(path))(t)
	o = w.bare("audit", "--json", "--file", path).exits(0)
	equal(t, "the raw lines", o.stdout, string(content))
}

func TestAuditSearch(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := auditLog(t)
	for line, want := range map[string]string{
		"":                               "c0 c1 c2 c3",
		"--tool fs.write":                "c1 c2",
		"--caller cli":                   "c0 c1 c2",
		"--session ABCDEFGH":             "c0 c1 c2",
		"--code ok":                      "c0 c2",
		"--code not_found":               "c3",
		"-n 1":                           "c3",
		"--code ok -n 1":                 "c2",
		"NOTES.txt":                      "c2",
		"reed":                           "c3",
		"--tool fs.write notes":          "c2",
		"--since 2026-10-11T12:30:02Z":   "c2 c3",
		"--since 2026-10-11T12:30:02.5Z": "c3",
		"--since 2026-10-09":             "c0 c1 c2 c3",
		"--until 2026-10-11T12:30:01Z":   "c0",
		"--since 2026-10-11T12:30:01Z --until 2026-10-11T12:30:02.5Z": "c1 c2",
		"--since 2026-10-13":                    "",
		"--since " + "1s":                       "",
		"--since 1000000h --tool fs.read ABCDE": "c0",
	} {
		o := w.bare(append([]string{"audit", "--json", "--file", path}, strings.Fields(line)...)...).exits(0)
		var got []string
		for l := range strings.Lines(o.stdout) {
			var e audit.Entry
			require.NoError(t, json.Unmarshal([]byte(l), &e))
			got = append(got, e.Call)
		}
		equal(t, "audit "+line, strings.Join(got, " "), want)
		if want == "" {
			o.says("no line matches")
		}
	}
}

func TestAuditVerify(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := auditLog(t)
	w.bare("audit", "verify", "--file", path).exits(0).prints("4 lines in 1 file, whole up to line 4, 2026-10-1", "sha256:", "cut off")
	var r audit.Report
	w.bare("audit", "verify", "--json", "--file", path).exits(0).json(&r)
	equal(t, "the number of lines", r.Lines, 4)
	equal(t, "the last time", r.UpTo.Time, auditTime.Add(3*time.Second))

	content := require.Must(os.ReadFile(path))(t)
	lines := bytes.SplitAfter(content, []byte("\n"))
	lines[1] = bytes.Replace(lines[1], []byte("approved"), []byte("allowed!"), 1)
	require.NoError(t, os.WriteFile(path, bytes.Join(lines, nil), 0o600))
	w.bare("audit", "verify", "--file", path).exits(1).
		prints(path+":2: edited: the text of line 2 is not what its hash was made of", "1 line in 1 file, whole up to line 1, ", "after it, 3 lines not verified").
		says("toolhost: the audit log "+path+" is not as it was written", "keep a copy")
	w.bare("audit", "verify", "--json", "--file", path).exits(1).json(&r)
	equal(t, "the kind", r.Break.Kind, audit.Edited)
}

// Garbage is told of, and the rest is shown.
func TestAuditGarbage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := auditLog(t)
	f := require.Must(os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0))(t)
	require.Must(f.WriteString("garbage\x1b[2J\n"))(t)
	require.NoError(t, f.Close())
	writeAudit(t, path, func(r *audit.Record) { r.Tool = "last" })
	for _, condition := range []string{"-n20", "--since=1000000h"} {
		o := w.bare("audit", condition, "--file", path).exits(0).
			says("warning: "+path+":5: edited: this is not a record", "toolhost audit verify").prints("not_found", "last")
		assert.NotContainsf(t, o.stdout+o.stderr, "\x1b", "it prints control characters")
	}
	w.bare("audit", "verify", "--file", path).exits(1).prints(":5: edited: ")
}

func TestAuditNothing(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	missing := filepath.Join(t.TempDir(), "none", "audit.jsonl")
	empty := filepath.Join(t.TempDir(), "audit.jsonl")
	writeAudit(t, empty)
	for _, line := range []string{"audit", "audit verify", "audit --json"} {
		o := w.bare(append(strings.Fields(line), "--file", empty)...).exits(0).says("no calls are recorded yet in " + empty)
		equal(t, line, o.stdout, "")
	}
	var r audit.Report
	w.bare("audit", "verify", "--json", "--file", empty).exits(0).json(&r)
	equal(t, "the report", r.Break == nil, true)
	for _, line := range []string{"audit", "audit --code ok", "audit verify"} {
		w.bare(append(strings.Fields(line), "--file", missing)...).exits(1).says("there is no audit log "+missing, "name another with --file")
	}
}

// A log that was removed, emptied or cut is told of, for the next call has not continued it in
// silence; and what to do if that was the operator.
func TestAuditGone(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	path := filepath.Join(w.state, "toolhost", "audit.jsonl")
	call := func() { w.run("call", "play.echo").exits(0) }
	w.run("audit", "verify").exits(0).says("no calls are recorded yet")
	call()
	call()
	o := w.run("audit", "verify").exits(0).prints("2 lines in 1 file, whole up to line 2")
	_, after, _ := strings.Cut(o.stdout, "sha256:")
	hash := "sha256:" + after[:64]
	w.run("audit", "verify", "--expect", hash).exits(0).prints("the hash that was expected is that of line 2")
	w.run("audit", "verify", "--expect", strings.Replace(hash, hash[10:20], "0123456789", 1)).exits(1).prints("no line has the hash").says("is not as it was written")
	w.run("audit", "verify", "--expect", "sha256:1").exits(2).says("64 hexadecimal digits")

	whole := require.Must(os.ReadFile(path))(t)
	require.NoError(t, os.Truncate(path, int64(bytes.IndexByte(whole, '\n')+1)))
	w.run("audit", "verify").exits(1).prints("line 2 is missing at the end").says("restore it from a copy")
	require.NoError(t, os.Truncate(path, 0))
	w.run("audit", "verify").exits(1).says("was removed or emptied: it had 2 lines", "restore it from a copy")
	require.NoError(t, os.Remove(path))
	for _, line := range []string{"audit verify", "audit", "audit text"} {
		o = w.run(strings.Fields(line)...).exits(1).says("was removed or emptied: it had 2 lines", "if you removed it yourself, remove ")
	}
	w.run("call", "play.echo").exits(0).says("has lost lines at its end, and continues after line 2")
	w.run("audit", "verify").exits(1).prints("lines 1 to 2 are missing at the beginning")

	_, file, _ := strings.Cut(o.stderr, "if you removed it yourself, remove ")
	file, _, _ = strings.Cut(file, " and what is left")
	for _, gone := range []string{file, path} {
		require.NoError(t, os.Remove(gone))
	}
	call()
	w.run("audit", "verify").exits(0).prints("1 line in 1 file, whole up to line 1")
}

// The configuration says how large, how many and how old the files of the log get.
func TestAuditRotates(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.configure("audit: {max_size: 64KiB, max_files: 2, max_age: 400h}")
	path := filepath.Join(w.state, "toolhost", "audit.jsonl")
	long := strings.Repeat("x", redact.MaxInput-100)
	writeAudit(t, path, slices.Repeat([]func(*audit.Record){func(r *audit.Record) {
		r.Time, r.Input = time.Now(), json.RawMessage(strconv.Quote(long))
	}}, 20)...)
	files := func() int {
		all := require.Must(filepath.Glob(path + ".0*"))(t)
		return len(all)
	}
	for i, want := range []int{1, 1} { // the file has more than 64 KiB
		w.run("call", "play.echo").exits(0)
		equal(t, fmt.Sprintf("the number of full files after call %d", i), files(), want)
	}
	w.configure("audit: {max_age: 1h}")
	writeAudit(t, path, func(r *audit.Record) { r.Time = time.Now() })
	w.run("audit", "verify").exits(0).prints("23 lines in 2 files")

	old := filepath.Join(w.state, "old.jsonl")
	writeAudit(t, old, func(*audit.Record) {}) // of a year ago, or so
	w.configure("audit: {max_age: 1h, path: " + old + "}")
	w.run("call", "play.echo").exits(0)
	w.run("audit", "verify").exits(0).prints("1 line in 1 file, from line 2 on")
}

// A call whose host was killed is found.
func TestAuditUnended(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	path := filepath.Join(t.TempDir(), "audit.jsonl")
	writeAudit(t, path,
		func(r *audit.Record) { r.Event = audit.Begin },
		func(r *audit.Record) { r.Event, r.Call = audit.Begin, "killed" },
		func(r *audit.Record) { r.Call = "c0" },
	)
	o := w.bare("audit", "--unended", "--json", "--file", path).exits(0).prints(`"call":"killed"`)
	equal(t, "the number of calls", strings.Count(o.stdout, "\n"), 1)
	w.bare("audit", "--unended", "--caller", "bob", "--file", path).exits(0).says("no line matches")
	w.bare("audit", "--unended", "--code", "ok", "--file", path).exits(2).says("--unended excludes")
	w.bare("audit", "verify", "--file", path).exits(0).prints("1 call began and did not end: see toolhost audit --unended")
}

func TestAuditUsage(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	dir := t.TempDir()
	for line, text := range map[string]string{
		"audit -n -1":              "-n -1 is below zero",
		"audit -n many":            "see toolhost audit --help",
		"audit a b":                "takes one text, not 2 words",
		"audit --since soon":       `--since "soon" is neither a time nor a duration`,
		"audit --until -1h":        "neither a time nor a duration",
		"audit --unended --follow": "exclude each other",
		"audit verify --follow":    "unknown flag",
	} {
		w.bare(append(strings.Fields(line), "--file", filepath.Join(dir, "audit.jsonl"))...).exits(2).says(text)
	}
	for _, line := range []string{"audit", "audit text", "audit verify", "audit --follow"} {
		w.bare(append(strings.Fields(line), "--file", dir)...).exits(1).says("the audit log " + dir + " cannot be read: it is a directory")
	}
}

// Without --file the log is where the user's state is.
func TestAuditDefaultFile(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	state := filepath.Join(w.root, "state")
	w.env = append(w.env, "XDG_STATE_HOME="+state)
	path := filepath.Join(state, "toolhost", "audit.jsonl")
	w.bare("audit").exits(0).says("no calls are recorded yet in " + path)
	writeAudit(t, path, func(*audit.Record) {})
	w.bare("audit").exits(0).prints("fs.read")
	w.bare("audit", "verify").exits(0).prints("1 line in 1 file")
}

// What changes who may do what is on record, in the chain of the calls: by commands and by the daemon, done or
// refused, with the user.
func TestAdministrationIsOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	var made struct{ ID, Token string }
	w.run("tokens", "new", "laptop", "--expires", "1h", "--json").exits(0).json(&made)
	w.run("tokens").exits(0)
	w.run("tokens", "revoke", made.ID).exits(0)
	w.run("tokens", "revoke", "nothing").exits(2)
	w.found("tools: {play.echo: {rename: planted}}\n")
	w.bare("trust").exits(5)
	w.bare("trust", "--yes").exits(0)
	s := w.serve()
	w.run("plugins", "disable", "player").exits(0)
	w.run("plugins", "enable", "player").exits(0)
	w.run("plugins", "restart", "player").exits(0)
	w.run("call", "planted").exits(0)
	w.run("reload").exits(0)
	s.await("toolhost: reloaded: nothing has changed in " + w.config())
	s.hangUp()
	s.await("toolhost: reloaded: nothing has changed in " + w.config())
	w.found("nonsense: 1\n")
	w.run("reload", "--yes").exits(1)
	w.run("stop").exits(0)

	var got []string
	o := w.run("audit", "--kind", "admin", "--json").exits(0)
	for line := range strings.Lines(o.stdout) {
		var e audit.Entry
		require.NoError(t, json.Unmarshal([]byte(line), &e))
		who := "-"
		if e.UID != nil {
			who = fmt.Sprint(e.Caller, " ", *e.UID == os.Getuid())
		}
		got = append(got, strings.TrimSpace(fmt.Sprintf("%s %s: %s%s %s", e.Action, e.Object, who, strings.TrimRight(" "+e.Via, " "), e.Code)))
	}
	equal(t, "what is on record", strings.Join(got, "\n"), strings.Join([]string{
		"tokens new laptop --expires=1h: cli true", "tokens revoke " + made.ID + ": cli true",
		"trust : cli true approval_required", "trust --yes: cli true",
		"plugins disable player: cli true", "plugins enable player: cli true", "plugins restart player: cli true socket",
		"reload : cli true socket", "reload : - signal", "reload : cli true socket invalid_arguments", "stop : cli true socket",
	}, "\n"))
	w.run("audit", "--kind", "admin", made.ID).exits(0).prints("tokens new laptop")
	w.run("audit", "--kind", "call").exits(0).prints("planted")
	w.run("audit", "--kind", "odd").exits(2).says("use call or admin")
	w.run("audit", "verify").exits(0)
	assert.NotContainsf(t, o.stdout, made.Token, "the token is on record")
}

// A log that was restored from a copy is broken where lines are missing, until the operator says that this is known;
// what is changed besides stays a break.
func TestAuditAcceptBreak(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	log := filepath.Join(w.state, "toolhost", "audit.jsonl")
	call := func(n int) {
		for range n {
			w.run("call", "play.echo").exits(0)
		}
	}
	call(2)
	backup := require.Must(os.ReadFile(log))(t)
	call(2)
	require.NoError(t, os.WriteFile(log, backup, 0o600))
	w.run("audit", "verify").exits(1).prints("lines 3 to 4 are missing at the end").says("toolhost audit verify --accept-break 5")
	w.run("audit", "verify", "--accept-break", "4").exits(2).says("there is no break before line 4")
	w.run("audit", "verify", "--accept-break", "5").exits(0).prints("lines 3 to 4 are missing before this one; accepted", "whole up to line 5")
	call(1)
	w.run("audit", "verify").exits(0).prints("accepted", "whole up to line 6")
	w.run("audit", "--kind", "admin").exits(0).prints("audit accept-break 5")

	text := require.Must(os.ReadFile(log))(t)
	require.NoError(t, os.WriteFile(log, bytes.Replace(text, []byte("play.echo"), []byte("play.evil"), 1), 0o600))
	w.run("audit", "verify").exits(1).prints("edited")
}

// Whoever has the public key sees whether a log still has the line that was signed: not if it was made again.
func TestAuditAnchor(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	w.bare("dev", "keygen", at("audit.key"), "--no-password").exits(0)
	w.bare("dev", "keygen", at("other.key"), "--no-password").exits(0)
	log := filepath.Join(w.state, "toolhost", "audit.jsonl")
	w.run("call", "play.echo").exits(0)
	sign := []string{"audit", "verify", "--sign", at("audit.key"), "--output", at("proof.json")}
	w.bare(sign...).exits(0).says("signed line 1 in " + at("proof.json"))
	w.bare(sign...).exits(2).says("there is a file already")
	w.run("call", "play.echo").exits(0)
	stranger := func(more ...string) outcome {
		return w.bare(append([]string{"audit", "verify", "--file", log, "--anchor", at("proof.json")}, more...)...)
	}
	stranger("--key", at("audit.pub")).exits(0).prints("whole up to line 2")
	stranger("--key", at("other.pub")).exits(1).says("is not signed with this key")
	stranger("--key", "nonsense").exits(2).says("is not a public key of minisign")
	stranger().exits(2).says("key")

	require.NoError(t, os.RemoveAll(filepath.Join(w.state, "toolhost")))
	w.run("call", "play.echo").exits(0)
	w.run("call", "play.echo").exits(0)
	w.run("audit", "verify").exits(0)
	stranger("--key", at("audit.pub")).exits(1).prints("line 1 is not the line that was written at", "the log was made again")
	proof := require.Must(os.ReadFile(at("proof.json")))(t)
	require.NoError(t, os.WriteFile(at("proof.json"), bytes.Replace(proof, []byte(`"seq":1`), []byte(`"seq":2`), 1), 0o600))
	stranger("--key", at("audit.pub")).exits(1).says("is not signed with this key")
}
