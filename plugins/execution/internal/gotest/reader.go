// Package gotest reads what go test -json reports while tests run, and keeps what a reader
// needs of it in bounded memory. Start with [NewReader].
package gotest

import (
	"bytes"
	"encoding/json"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocheck"
)

// Reader is a writer for the output of go test -json. When the command has ended, its
// [Reader.Result] is what the tests did.
type Reader struct {
	options Options

	mu       sync.Mutex
	line     []byte // without an end so far
	cut      bool   // the line is longer than it may be
	packages map[string]*pkg
	order    []*pkg
	builds   map[string]*strings.Builder // output of the compiler, by package
	result   Result
}

// Options are how a [Reader] reads.
type Options struct {
	// Place returns the path of a file from the workspace's root, and whether it is in the
	// workspace.
	Place func(file string) (string, bool)
	// Scrub removes directories of the machine from output.
	Scrub func(string) string
	// Verbose keeps the output of tests that pass.
	Verbose bool
	// Done is called after each package, with how many are done.
	Done func(packages int, message string)
	// Problems collects what does not compile.
	Problems *gocheck.Problems
}

// Bounds, in bytes except for maxFailures and maxSkips.
const (
	maxLine     = 1 << 20 // of go test -json
	maxTest     = 4 << 10 // output of a test
	maxCrash    = 256 << 10
	maxBuild    = 64 << 10 // output of the compiler for a package
	maxFailures = 200
	maxSkips    = 20
	maxVerbose  = 24 << 10 // output of all tests that pass
)

// NewReader returns a reader.
func NewReader(o Options) *Reader {
	return &Reader{options: o, packages: map[string]*pkg{}, builds: map[string]*strings.Builder{}}
}

// event is a line of go test -json; see go doc test2json.
type event struct {
	Action      string
	Package     string
	Test        string
	Output      string
	Elapsed     float64
	ImportPath  string // of a build's output
	FailedBuild string
}

func (r *Reader) Write(p []byte) (int, error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for rest := p; len(rest) > 0; {
		end := bytes.IndexByte(rest, '\n')
		part := rest
		if end >= 0 {
			part = rest[:end]
		}
		if room := maxLine - len(r.line); len(part) > room {
			part, r.cut = part[:room], true
		}
		r.line = append(r.line, part...)
		if end < 0 {
			break
		}
		r.take(r.line)
		r.line, r.cut, rest = r.line[:0], false, rest[end+1:]
	}
	return len(p), nil
}

// take takes a line.
func (r *Reader) take(line []byte) {
	var e event
	if r.cut || json.Unmarshal(line, &e) != nil {
		return // what a test wrote past its own output
	}
	switch e.Action {
	case "build-output":
		b := r.builds[e.ImportPath]
		if b == nil {
			b = &strings.Builder{}
			r.builds[e.ImportPath] = b
		}
		if b.Len()+len(e.Output) <= maxBuild {
			b.WriteString(e.Output)
		}
	case "build-fail":
		if b := r.builds[e.ImportPath]; b != nil {
			r.options.Problems.AddOutput(b.String())
		}
		delete(r.builds, e.ImportPath)
	default:
		if e.Package != "" {
			r.inPackage(e)
		}
	}
}

// inPackage takes an event of a package or of one of its tests.
func (r *Reader) inPackage(e event) {
	p := r.packages[e.Package]
	if p == nil {
		p = newPackage(e.Package)
		r.packages[e.Package] = p
		r.order = append(r.order, p)
	}
	if p.done {
		return
	}
	if e.Test != "" {
		r.inTest(p, e)
		return
	}
	switch e.Action {
	case "output":
		p.note(e.Output, r.options)
	case "pass", "fail", "skip":
		p.done = true
		r.finish(p, e)
	}
}

// inTest takes an event of a test.
func (r *Reader) inTest(p *pkg, e event) {
	t := p.test(e.Test)
	r.result.Depth = max(r.result.Depth, strings.Count(e.Test, "/")+1)
	switch e.Action {
	case "output":
		t.write(e.Output, r.options)
	case "pass":
		if r.options.Verbose && t.shown() != "" && len(r.result.Output) < maxVerbose {
			r.result.Output += "--- PASS: " + t.name + "\n" + t.shown() + "\n"
		}
		r.count(p, t, &r.result.Passed)
	case "bench":
		r.count(p, t, &r.result.Passed)
	case "skip":
		if len(r.result.Skips) < maxSkips && !t.hasChildren {
			r.result.Skips = append(r.result.Skips, Skip{Package: p.path, Test: t.name, Reason: t.reason()})
		}
		r.count(p, t, &r.result.Skipped)
	case "fail":
		t.failed++
		t.seconds = e.Elapsed
		if parent := p.parent(t); parent != nil {
			parent.childFailed = true
		}
	}
}

// count counts a test that is done and did not fail. One with subtests is not counted: they
// are.
func (r *Reader) count(p *pkg, t *test, n *int) {
	if !t.hasChildren {
		*n++
	}
	if t.failed > 0 {
		t.passed++
		return
	}
	delete(p.tests, t.name)
}

// finish takes the end of a package: what is not done by now did not end.
func (r *Reader) finish(p *pkg, e event) {
	r.result.Packages++
	message := "ok " + p.path
	switch {
	case e.FailedBuild != "" || p.buildFailed:
		r.result.Unbuilt = append(r.result.Unbuilt, p.path)
		message = "build failed: " + p.path
	case e.Action == "fail":
		r.addFailures(p, e)
		message = "FAIL " + p.path
	case e.Action == "skip" || p.noTests:
		r.result.WithoutTests++
	}
	if p.cached {
		r.result.Cached++
	}
	p.tests = nil
	if r.options.Done != nil {
		r.options.Done(r.result.Packages, message)
	}
}

// addFailures adds the failures of a package.
func (r *Reader) addFailures(p *pkg, e event) {
	before := r.result.Failed
	r.addAll(p.failures(true, r.options))
	if r.result.Failed > before {
		return
	}
	whole := p.whole
	whole.failed, whole.seconds = 1, e.Elapsed
	f := whole.failure(p.path, true, r.options)
	if f.Kind == "fail" {
		f.Kind = "exit"
	}
	if f.Message == "" {
		f.Message = "the test binary failed, though no test did: it ended itself"
	}
	r.addAll([]Failure{f})
}

func (r *Reader) addAll(failures []Failure) {
	for _, f := range failures {
		r.result.Failed += max(1, f.Failed)
		if len(r.result.Failures) < maxFailures {
			r.result.Failures = append(r.result.Failures, f)
		}
	}
}

// Result returns what the tests did. It takes packages that did not end for failed ones.
func (r *Reader) Result() Result {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, b := range r.builds { // of a go command before 1.24, or one that was ended
		r.options.Problems.AddOutput(b.String())
	}
	r.builds = nil
	for _, p := range r.order {
		if !p.done {
			p.done = true
			r.result.Unfinished = append(r.result.Unfinished, p.path)
			r.addAll(p.failures(false, r.options))
		}
	}
	return r.result
}
