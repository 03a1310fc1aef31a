package main

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/sandbox"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
)

const (
	// stackTime is how long a program may take to print its stacks when its time is over.
	stackTime = 3 * time.Second
	// answerTime is left of the caller's deadline for the answer.
	answerTime = 250 * time.Millisecond
	// unusedMemory is what a Go program maps without using it, in bytes.
	unusedMemory = 64 << 20
)

// runner runs programs in the workspace.
type runner struct {
	root       string // absolute, without symbolic links
	limits     limits
	namespaces []confine.Namespaces // see [process.Process]; tests set it
}

// result is how a program ended.
type result struct {
	report               program.Report
	stdout, stderr       string
	kind, message, stack string // of a failure, see [evaluation]
	note                 string
}

// canBox reports whether programs can be confined more narrowly than the plugin is.
func canBox() bool { return sandbox.Inner() != sandbox.Features{} }

// box is what a program may do that the plugin has built: read the workspace and Go's tree, and
// write to its own directories. It starts no programs and has no network. Nil: it may do what the
// plugin may.
func (r runner) box(program string, own ...string) *sandbox.Profile {
	if !r.limits.Confine || !canBox() {
		return nil
	}
	read := []string{r.root}
	if path, err := exec.LookPath("go"); err == nil {
		if path, err = filepath.EvalSymlinks(path); err == nil {
			read = append(read, filepath.Dir(filepath.Dir(path)))
		}
	}
	return &sandbox.Profile{Dir: r.root, Program: program, Read: sandbox.Grant{List: read}, Write: sandbox.Grant{List: own}}
}

// run runs a program, which may use the directory temp.
func (r runner) run(ctx context.Context, path, temp string) (result, error) {
	tempDir, reportDir := filepath.Join(temp, "tmp"), filepath.Join(temp, "report")
	for _, dir := range []string{tempDir, reportDir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return result{}, err
		}
	}
	dir, err := os.OpenRoot(reportDir) // before the program can put something else there
	if err != nil {
		return result{}, err
	}
	defer func() { _ = dir.Close() }()
	limit := time.Duration(r.limits.Time)
	if deadline, ok := ctx.Deadline(); ok { // a result that says so is better than no result
		left := time.Until(deadline)
		limit = max(time.Millisecond, min(limit, left-answerTime-min(stackTime, left/4)))
	}
	stdout, stderr := process.NewBuffer(r.limits.Output), process.NewBuffer(r.limits.Output)
	p := &process.Process{
		Path: path, Dir: r.root, Stdout: stdout, Stderr: stderr,
		Env:  []string{"TMPDIR=" + tempDir, program.ReportVariable + "=" + reportDir},
		Time: limit, Quit: stackTime, Memory: r.limits.Memory, Processes: r.limits.Processes,
		Limits: process.Limits{
			CPU:  uint64(limit.Seconds()*float64(runtime.NumCPU())) + 1,
			Data: uint64(r.limits.Memory) + unusedMemory,
			File: process.MaxFile,
			Box:  r.box(path, tempDir, reportDir),
		},
		Namespaces: r.namespaces,
	}
	state, excess, err := p.Run(ctx)
	if err != nil {
		return result{}, err
	}
	out := result{report: program.ReadReport(dir), stdout: stdout.String(), stderr: stderr.String()}
	crash, crashed := out.report.Crash(out.stderr, r.root)
	out.stderr, out.stack = crash.Stderr, crash.Stack
	switch {
	case excess != "":
		out.kind, out.message = string(excess), r.limits.explain(excess, limit)
		if excess == process.Time && crash.Blocked != "" {
			out.message += "; it looks like a deadlock: all of its goroutines are blocked (" + crash.Blocked + ")"
		}
	case state.Success() && !out.report.Ended:
		out.note = "the program ended itself with status 0 before the form was done"
	case state.Success():
	case crashed:
		out.kind, out.message = "panic", crash.Message
	default:
		out.kind, out.message = "exit", "the program ended with "+state.String()
	}
	if r.limits.Confine && !canBox() {
		out.note = strings.TrimPrefix(out.note+"; this system does not confine forms: it could do what the plugin may", "; ")
	}
	return out, nil
}
