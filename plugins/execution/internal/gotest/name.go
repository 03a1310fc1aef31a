package gotest

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/suggest"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
)

// Name is which tests to run: one by its name, all that match an expression, or all.
type Name struct {
	text  string
	run   string         // for go test -run; empty: all
	first *regexp.Regexp // matches the names of test functions
}

var plain = lazy.Regexp(`^(Test|Example|Fuzz|Benchmark)[\pL\pN_]+(/.*)?$`)

// ParseName reads the name of a test, with its subtests, or an expression as for go test
// -run. A name means that test alone, as it does not in an expression.
func ParseName(text string) (Name, error) {
	n := Name{text: text}
	if text == "" {
		return n, nil
	}
	n.run = text
	if plain().MatchString(text) && !strings.ContainsAny(text, `|^$*+?\[`) {
		parts := strings.Split(text, "/")
		for i, p := range parts {
			parts[i] = "^" + regexp.QuoteMeta(subtest(p)) + "$"
		}
		n.run = strings.Join(parts, "/")
	}
	first, _, _ := strings.Cut(n.run, "/")
	var err error
	if n.first, err = regexp.Compile(first); err != nil {
		return n, fmt.Errorf("test %q is neither a name nor a regular expression: %w", text, err)
	}
	return n, nil
}

// subtest writes a part of a name as the testing package does.
func subtest(s string) string { return strings.ReplaceAll(s, " ", "_") }

// Depth returns how deep the subtest is that the name names; 1: a test, 0: none is named.
func (n Name) Depth() int {
	if n.text == "" {
		return 0
	}
	return strings.Count(n.run, "/") + 1
}

// Flags returns the flags of go test.
func (n Name) Flags(limit time.Duration) []string {
	out := []string{"-timeout=" + limit.String()}
	switch {
	case n.run == "":
	case strings.HasPrefix(n.text, "Benchmark"):
		out = append(out, "-run=^$", "-bench="+n.run)
	default:
		out = append(out, "-run="+n.run)
	}
	return out
}

// declaration matches the declarations of tests.
var declaration = lazy.Regexp(`(?m)^func ((?:Test|Example|Fuzz|Benchmark)[\pL\pN_]*)\(`)

// maxTestFile bounds how much of a test file is searched for names, in bytes.
const maxTestFile = 8 << 20

// Choose returns which packages have the tests. If none has, hint says what to do next.
func (n Name) Choose(all []*gocmd.Package) (paths []string, hint string) {
	var names []string
	tests := 0
	for _, p := range all {
		own := declared(p)
		tests += len(p.TestGoFiles) + len(p.XTestGoFiles)
		names = append(names, own...)
		matches := func(name string) bool { return n.first.MatchString(name) }
		if n.first == nil || p.Error != nil || slices.ContainsFunc(own, matches) {
			paths = append(paths, p.ImportPath)
		}
	}
	switch {
	case len(paths) > 0:
		return paths, ""
	case len(all) == 0:
		return nil, "there are no packages there"
	case tests == 0:
		return nil, "there are no test files in these packages"
	}
	top, _, _ := strings.Cut(n.text, "/")
	hint = fmt.Sprintf("no test is named %s", top)
	slices.Sort(names)
	if near := suggest.Nearest(top, slices.Compact(names), 3); len(near) > 0 {
		hint += "; did you mean " + strings.Join(near, ", ") + "?"
	}
	return nil, hint
}

// declared returns the names of a package's tests.
func declared(p *gocmd.Package) (out []string) {
	for _, name := range slices.Concat(p.TestGoFiles, p.XTestGoFiles) {
		path := filepath.Join(p.Dir, name)
		if info, err := os.Stat(path); err != nil || info.Size() > maxTestFile {
			continue
		}
		text, _ := os.ReadFile(path)
		for _, m := range declaration().FindAllSubmatch(text, -1) {
			out = append(out, string(m[1]))
		}
	}
	return out
}
