package gotest

import (
	"slices"
	"strings"
)

// pkg is a package whose tests run.
type pkg struct {
	path  string
	tests map[string]*test // that have begun and have not passed
	order []string         // of tests, as they began
	whole *test            // what the package printed outside of tests

	done, cached, noTests, buildFailed bool
}

func newPackage(path string) *pkg {
	return &pkg{path: path, tests: map[string]*test{}, whole: newTest("")}
}

// test returns a test, which begins if it has not.
func (p *pkg) test(name string) *test {
	t := p.tests[name]
	if t == nil {
		t = newTest(name)
		p.tests[name] = t
		p.order = append(p.order, name)
		if len(p.order) > 2*len(p.tests)+100 { // most have passed
			p.order = slices.DeleteFunc(p.order, func(n string) bool { return p.tests[n] == nil })
		}
		for parent := p.parent(t); parent != nil && !parent.hasChildren; parent = p.parent(parent) {
			parent.hasChildren = true
		}
	}
	return t
}

// parent returns the test that a subtest belongs to.
func (p *pkg) parent(t *test) *test {
	end := strings.LastIndexByte(t.name, '/')
	if end < 0 {
		return nil
	}
	return p.tests[t.name[:end]]
}

// note takes what a package printed outside of its tests.
func (p *pkg) note(line string, o Options) {
	switch {
	case strings.HasPrefix(line, "ok  \t"):
		p.cached = strings.Contains(line, "(cached)")
		p.noTests = p.noTests || strings.Contains(line, "[no tests to run]")
	case strings.HasPrefix(line, "?   \t"), strings.HasPrefix(line, "testing: warning: no tests to run"):
		p.noTests = true
	case strings.HasPrefix(line, "FAIL\t"):
		p.buildFailed = strings.Contains(line, "[build failed]") || strings.Contains(line, "[setup failed]")
	case line == "PASS\n", line == "FAIL\n", strings.HasPrefix(line, "coverage: "):
	default:
		p.whole.write(line, o)
	}
}

// failures returns the failures of the package's tests. A test fails with its subtests, and
// says nothing of its own then. ended says whether the test binary has ended.
func (p *pkg) failures(ended bool, o Options) (out []Failure) {
	crashed := map[*test]bool{} // whose crash is told with a subtest
	for _, name := range p.order {
		t := p.tests[name]
		if t == nil || t.failed == 0 || t.hasChildren || t.crash != nil || t.shown() != "" {
			continue
		}
		for above := p.parent(t); above != nil; above = p.parent(above) {
			if above.crash != nil && !crashed[above] {
				t.crash, crashed[above] = above.crash, true
				break
			}
		}
	}
	for _, name := range p.order {
		t := p.tests[name]
		switch {
		case t == nil || crashed[t]:
		case t.failed > 0 && t.childFailed && t.crash == nil && t.position == "" && len(t.places) == 0:
		case t.failed == 0 && t.crash == nil && (t.hasChildren || ended && p.crashed()):
		default:
			out = append(out, t.failure(p.path, ended, o))
		}
	}
	return out
}

// crashed reports whether the runtime ended the test binary, and with it the tests that ran
// side by side.
func (p *pkg) crashed() bool {
	for _, t := range p.tests {
		if t.crash != nil {
			return true
		}
	}
	return p.whole.crash != nil
}
