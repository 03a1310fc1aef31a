package main

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/execution/internal/program"
	"github.com/toolhost/toolhost/plugins/execution/internal/session"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
)

const (
	// answerTime is left of the caller's deadline for the answer.
	answerTime = 250 * time.Millisecond
	// unusedMemory is what a Go program maps without using it, in bytes.
	unusedMemory = 64 << 20
)

// run runs the program within the limits and says in out how it ended.
func (e *evaluator) run(ctx context.Context, j *job, path string, out *evaluation) (program.Report, error) {
	temp, reportDir := filepath.Join(j.temp, "tmp"), filepath.Join(j.temp, "report")
	for _, dir := range []string{temp, reportDir} {
		if err := os.Mkdir(dir, 0o700); err != nil {
			return program.Report{}, err
		}
	}
	dir, err := os.OpenRoot(reportDir) // before the program can put something else there
	if err != nil {
		return program.Report{}, err
	}
	defer func() { _ = dir.Close() }()
	limit := time.Duration(e.limits.Time)
	if deadline, ok := ctx.Deadline(); ok { // a result that says so is better than no result
		limit = max(time.Millisecond, min(limit, time.Until(deadline)-answerTime))
	}
	stdout, stderr := process.NewBuffer(e.limits.Output), process.NewBuffer(e.limits.Output)
	p := &process.Process{
		Path: path, Dir: e.root, Stdout: stdout, Stderr: stderr,
		Env:  []string{"TMPDIR=" + temp, program.ReportVariable + "=" + reportDir},
		Time: limit, Memory: e.limits.Memory, Processes: e.limits.Processes,
		Limits: process.Limits{
			CPU:  uint64(limit.Seconds()*float64(runtime.NumCPU())) + 1,
			Data: uint64(e.limits.Memory) + unusedMemory,
			File: process.MaxFile,
		},
		Namespaces: e.namespaces,
	}
	state, excess, err := p.Run(ctx)
	if err != nil {
		return program.Report{}, err
	}
	report := program.ReadReport(dir)
	out.Stdout, out.Stderr = stdout.String(), stderr.String()
	message, stack, crashed := report.Crash(out.Stderr)
	switch {
	case excess != "":
		out.Kind, out.Message = string(excess), e.limits.excess(excess, limit)
	case state.Success() && !report.Ended:
		out.Note = "the program ended itself with status 0 before the form was done"
	case state.Success():
	case crashed:
		scrub := j.compilation.Scrub(ctx)
		out.Kind = "panic"
		out.Message = truncate.Counted(scrub(message), form.MaxMessage)
		out.Stack = truncate.Counted(scrub(stack), session.MaxStack)
	default:
		out.Kind, out.Message = "exit", "the program ended with "+state.String()
	}
	return report, nil
}

// excess says which limit a program exceeded.
func (l limits) excess(excess process.Excess, limit time.Duration) string {
	const ended = "the program was ended, with everything it started: "
	switch excess {
	case process.Time:
		return fmt.Sprintf(ended+"it was still running after %s", limit.Round(time.Millisecond))
	case process.Memory:
		return fmt.Sprintf(ended+"it used more than %d bytes of memory", l.Memory)
	default:
		return fmt.Sprintf(ended+"it had more than %d processes", l.Processes)
	}
}
