package main

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocheck"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/gotest"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/execution/internal/target"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/truncate"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const testsDescription = `Runs Go tests of the workspace: a package, a pattern of packages, or a test by name.

Returns counts, and for each failure its position, what it said, and, if it crashed or timed out, the stacks of the workspace's goroutines. With test, only packages that declare it are compiled.

Tests run under limits on time, memory, processes and the size of files, with an empty standard input; what they start ends with them. Results are cached as by go test.`

const (
	defaultTestTime = 2 * time.Minute
	mostTestTime    = 9 * time.Minute
	mostCount       = 1000
	// quitTime is how long tests have to print their stacks when the call's time is over.
	quitTime = 2 * time.Second
)

type testsIn struct {
	Package string        `json:"package,omitempty"`
	Test    string        `json:"test,omitempty" jsonschema:"a test, example, fuzz test or benchmark by name, subtests as TestX/name, or a regular expression as for go test -run; default: all tests"`
	Race    bool          `json:"race,omitempty" jsonschema:"run with the race detector"`
	Short   bool          `json:"short,omitempty" jsonschema:"tell tests to skip what takes long, as go test -short"`
	Count   int           `json:"count,omitempty" jsonschema:"run each test so often; 1 ignores cached results"`
	Timeout tool.Duration `json:"timeout,omitempty" jsonschema:"how long the tests of one package may take, such as 30s"`
	Tags    []string      `json:"tags,omitempty" jsonschema:"build tags, such as integration"`
	Verbose bool          `json:"verbose,omitempty" jsonschema:"return the output of tests that pass, too"`
}

// testRun is the result of run_tests.
type testRun struct {
	OK           bool              `json:"ok" jsonschema:"at least one test ran, and none failed"`
	Kind         string            `json:"kind,omitempty" jsonschema:"why it is not ok: build (something does not compile, and no test failed), fail, time (the call's time was over), memory, processes or none (no test ran)"`
	Passed       int               `json:"passed" jsonschema:"tests; of those with subtests, the subtests"`
	FailedTests  int               `json:"failed"`
	Skipped      int               `json:"skipped"`
	Packages     int               `json:"packages" jsonschema:"that were run"`
	Cached       int               `json:"cached,omitempty" jsonschema:"packages with an earlier result that still holds"`
	WithoutTests int               `json:"without_tests,omitempty" jsonschema:"packages"`
	Failures     []gotest.Failure  `json:"failures"`
	Build        []gocheck.Problem `json:"build" jsonschema:"what does not compile"`
	Unbuilt      []string          `json:"unbuilt,omitempty" jsonschema:"packages that were not run because of that"`
	Unfinished   []string          `json:"unfinished,omitempty" jsonschema:"packages that had not ended when the time was over"`
	Skips        []gotest.Skip     `json:"skips,omitempty" jsonschema:"the first tests that were skipped"`
	Output       string            `json:"output,omitempty" jsonschema:"of tests that passed, with verbose"`
	LeftOut      int               `json:"left_out,omitempty" jsonschema:"failures that there is no room for"`
	Seconds      float64           `json:"seconds"`
	Message      string            `json:"message,omitempty"`
	Note         string            `json:"note,omitempty"`
}

func runTests(e *evaluator) tool.Tool {
	run := func(ctx context.Context, in testsIn) (testRun, error) {
		out := testRun{Failures: []gotest.Failure{}, Build: []gocheck.Problem{}}
		err := e.work(ctx, func(temp string) error { return out.run(ctx, e, in, temp) })
		return out, err
	}
	return readable.Func("run_tests", testsDescription, run, append(workOptions("Run tests"),
		pluginsdk.Argument("package", fmt.Sprintf(`{"description": %q}`, "whose tests to run: "+packagesHelp)),
		pluginsdk.Argument("test", `{"maxLength": 512}`),
		pluginsdk.Argument("count", fmt.Sprintf(`{"minimum": 1, "maximum": %d}`, mostCount)),
		pluginsdk.Argument("timeout", fmt.Sprintf(`{"type": "string", "default": %q, "maxLength": 32}`, defaultTestTime)),
	)...)
}

func (out *testRun) run(ctx context.Context, e *evaluator, in testsIn, temp string) error {
	begin := time.Now()
	limit := time.Duration(in.Timeout)
	switch {
	case limit == 0:
		limit = defaultTestTime
	case limit < 0 || limit > mostTestTime:
		return fmt.Errorf("timeout is %s; use more than 0s and at most %s", limit, mostTestTime)
	}
	s, err := e.compiler.Finder.Select(ctx, in.Package, temp)
	if err != nil {
		return err
	}
	wanted, err := gotest.ParseName(in.Test)
	if err != nil {
		return err
	}
	out.Note = leftOut(s.LeftOut)
	g, err := gocmd.List(ctx, s.Go, slices.Concat([]string{"-e", "-find"}, tagFlags(in.Tags), []string{"--"}, s.Patterns)...)
	if err != nil {
		return err
	}
	if err := e.compiler.Finder.Refuse(g.Order); err != nil {
		return err
	}
	chosen, hint := wanted.Choose(g.Order)
	if len(chosen) == 0 {
		out.Kind, out.Message = "none", hint
		return nil
	}
	depth, err := out.execute(ctx, e, in, s, chosen, wanted.Flags(limit))
	if err != nil {
		return err
	}
	if out.OK && depth < wanted.Depth() {
		out.OK, out.Kind = false, "none"
		out.Message = fmt.Sprintf("no subtest matches %s: only the test above it ran", in.Test)
	}
	out.Seconds = seconds(begin)
	return nil
}

// execute runs go test on packages and takes in what it reports.
func (out *testRun) execute(
	ctx context.Context, e *evaluator, in testsIn, s *target.Selection, chosen, flags []string,
) (depth int, err error) {
	finder, scrub := e.compiler.Finder, e.compiler.Scrubber.For(ctx, s.Go)
	problems := &gocheck.Problems{Place: func(file string) string { return finder.Rel(s.Go.Dir, file) }, Scrub: scrub}
	report := func(done int, message string) {
		tool.Report(ctx, tool.Progress{Done: float64(done), Total: float64(len(chosen)), Message: message})
	}
	report(0, "compiling the tests of "+packages(len(chosen)))
	reader := gotest.NewReader(gotest.Options{
		Place: func(file string) (string, bool) {
			rel := finder.Rel(s.Go.Dir, file)
			return rel, !filepath.IsAbs(rel)
		},
		Scrub: scrub, Verbose: in.Verbose, Done: report, Problems: problems,
	})
	// What fails has a file of the workspace as its position, also if GOFLAGS has -trimpath.
	args := append([]string{"test", "-json", "-fullpath", "-buildvcs=false", "-trimpath=false"}, flags...)
	args = append(args, tagFlags(in.Tags)...)
	if in.Race {
		args = append(args, "-race")
	}
	if in.Short {
		args = append(args, "-short")
	}
	if in.Count > 0 {
		args = append(args, fmt.Sprintf("-count=%d", in.Count))
	}
	stderr := process.NewBuffer(e.runner.limits.Output)
	stream := gocmd.Stream{
		Stdout: reader, Stderr: stderr, Race: in.Race, Quit: quitTime, Namespaces: e.runner.namespaces,
		Memory: e.runner.limits.Memory, Processes: e.runner.limits.Processes,
		Env: []string{"TMPDIR=" + filepath.Join(s.Go.Temp, "tmp")},
	}
	if deadline, ok := ctx.Deadline(); ok {
		stream.Time = max(time.Millisecond, time.Until(deadline)-answerReserve)
	}
	state, excess, err := s.Go.Start(ctx, stream, append(args, chosen...)...)
	if err != nil {
		return 0, err
	}
	result := reader.Result()
	if result.Packages == 0 && !state.Success() {
		problems.AddOutput(stderr.String())
	}
	out.take(result, problems)
	out.judge(excess, state.Success(), scrub(stderr.String()))
	return result.Depth, nil
}

// maxFailureText bounds what is returned of all failures, in bytes.
const maxFailureText = 48 << 10

// take takes in what the tests did.
func (out *testRun) take(r gotest.Result, problems *gocheck.Problems) {
	out.Passed, out.FailedTests, out.Skipped = r.Passed, r.Failed, r.Skipped
	out.Packages, out.Cached, out.WithoutTests = r.Packages, r.Cached, r.WithoutTests
	out.Unbuilt, out.Unfinished, out.Skips, out.Output = r.Unbuilt, r.Unfinished, r.Skips, r.Output
	size := 0
	for _, f := range r.Failures {
		if size += len(f.Output) + len(f.Stack) + len(f.Message) + len(f.Test); size > maxFailureText {
			break
		}
		out.Failures = append(out.Failures, f)
	}
	out.LeftOut = r.Failed
	for _, f := range out.Failures {
		out.LeftOut -= max(1, f.Failed)
	}
	found, _ := problems.List()
	out.Build = append(out.Build, found[:min(len(found), defaultProblems)]...)
}

// judge says how the run went.
func (out *testRun) judge(excess process.Excess, success bool, stderr string) {
	switch {
	case excess == process.Time:
		out.Kind, out.Message = "time", "the call's time was over; name fewer packages, or a test"
	case excess != "":
		out.Kind = string(excess)
		out.Message = "the tests were ended: together they used more " + string(excess) + " than they may; run fewer at a time"
	case out.FailedTests > 0:
		out.Kind = "fail"
	case len(out.Unbuilt)+len(out.Build) > 0:
		out.Kind = "build"
	case !success:
		out.Kind, out.Message = "fail", "go test failed: "+truncate.Counted(strings.TrimSpace(stderr), 2<<10)
	case out.Passed+out.Skipped == 0 && out.Cached == 0:
		out.Kind, out.Message = "none", "no test ran"
	}
	out.OK = out.Kind == ""
}

// Failed reports whether the tool failed: tests that fail, or do not compile, are what it found.
func (out testRun) Failed() bool {
	return !out.OK && out.FailedTests+len(out.Unbuilt)+len(out.Build) == 0
}
