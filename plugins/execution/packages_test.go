package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/plugins/execution/internal/gocheck"
	"github.com/toolhost/toolhost/plugins/execution/internal/gotest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// suite is a module whose packages fail in one way each.
var suite = map[string]string{
	"go.mod":           "module example.com/suite\n\ngo 1.25\n",
	"type/type.go":     "package types\n\nfunc F() int { return \"no\" }\n\nfunc G() { x := 1 }\n",
	"needs/needs.go":   "package needs\n\nimport types \"example.com/suite/type\"\n\nvar V = types.F()\n",
	"vet/vet.go":       "package vet\n\nimport \"fmt\"\n\nfunc H() { fmt.Printf(\"%d\\n\", \"x\") }\n",
	"vet/vet_test.go":  "package vet\n\nimport \"testing\"\n\nfunc TestH(t *testing.T) { missing() }\n",
	"syntax/syntax.go": "package syntax\n\nimport _ \"example.com/none\"\n\nfunc f( {\n",
	"win/win.go":       "package win\n",
	"win/w_windows.go": "package win\n\nvar W = undefinedThere\n",
	"nested/go.mod":    "module example.com/nested\n\ngo 1.25\n",
	"nested/n.go":      "package nested\n\nvar N int = true\n",

	"ok/ok_test.go": `package ok

import "testing"

func TestOne(t *testing.T) { t.Log("one says so") }

func TestTwo(t *testing.T) {
	t.Run("skips", func(t *testing.T) { t.Skip("not here") })
	t.Run("passes", func(*testing.T) {})
}
`,
	"bad/bad_test.go": `package bad

import (
	"os"
	"testing"
	"time"
)

func TestFails(t *testing.T) {
	t.Run("sub one", func(t *testing.T) {
		t.Log("only a log")
		t.Errorf("got %d\nwant %d", 1, 2)
	})
}

func TestPanics(t *testing.T) {
	var m map[string]int
	m["a"] = 1
}

func TestHangs(t *testing.T) {
	go wait()
	wait()
}

func wait() { time.Sleep(time.Hour) }

func TestExits(t *testing.T) { os.Exit(3) }

func TestLeaves(t *testing.T) {
	if err := os.WriteFile(os.Getenv("READY"), []byte("x"), 0o600); err == nil {
		wait()
	}
}
`,
}

func (p plugin) check(t testing.TB, arguments args) checked {
	t.Helper()
	return decode[checked](t, p, "check_package", arguments)
}

func (p plugin) test(t testing.TB, arguments args) testRun {
	t.Helper()
	return decode[testRun](t, p, "run_tests", arguments)
}

func TestCheckPackage(t *testing.T) {
	t.Parallel()
	p := fresh(t, suite)
	problem := func(file string, line, column int, message, vet string) gocheck.Problem {
		return gocheck.Problem{File: file, Line: line, Column: column, Message: message, Vet: vet}
	}
	wrong := problem("type/type.go", 3, 23, `cannot use "no" (untyped string constant) as int value in return statement`, "")
	unused := problem("type/type.go", 5, 12, "declared and not used: x", "")
	missing := problem("vet/vet_test.go", 5, 28, "undefined: missing", "")
	syntax := problem("syntax/syntax.go", 5, 9, "syntax error: expected ')', found '{'", "")
	none := problem("syntax/syntax.go", 3, 8,
		"no required module provides package example.com/none; to add it: go get example.com/none", "")

	out := p.check(t, args{})
	if want := []gocheck.Problem{none, syntax, wrong, unused, missing}; out.OK || !slices.Equal(out.Problems, want) || out.Total != 5 {
		t.Errorf("everything: %s", out.Text())
	}
	if !slices.Equal(out.NotChecked, []string{"example.com/suite/needs"}) || !strings.Contains(out.Note, "nested; name one as ./nested/...") {
		t.Errorf("not checked: %v, note %q", out.NotChecked, out.Note)
	}
	for _, c := range []struct {
		arguments args
		want      []gocheck.Problem
	}{
		{args{"package": "./type"}, []gocheck.Problem{wrong, unused}},
		{args{"package": "types", "limit": 1}, []gocheck.Problem{wrong}},
		{args{"package": "vet/vet.go"}, []gocheck.Problem{missing}},
		{args{"package": "example.com/suite/vet", "tests": false}, []gocheck.Problem{
			problem("vet/vet.go", 5, 24, `fmt.Printf format %d has arg "x" of wrong type string`, "printf"),
		}},
		{args{"package": "./win", "goos": "windows/arm64", "tags": []string{"one", "two"}}, []gocheck.Problem{problem("win/w_windows.go", 3, 9, "undefined: undefinedThere", "")}},
		{args{"package": "./nested/..."}, []gocheck.Problem{
			problem("nested/n.go", 3, 13, "cannot use true (untyped bool constant) as int value in variable declaration", ""),
		}},
	} {
		if out := p.check(t, c.arguments); out.OK || !slices.Equal(out.Problems, c.want) {
			t.Errorf("%v: %s", c.arguments, out.Text())
		}
	}
	// What it finds is its result, and no failure of the tool.
	if res, err := p.Call(t, "check_package", args{"package": "./type"}); err != nil || res.IsError {
		t.Errorf("problems: %s, %v", res.Text(), err)
	}
	if out := p.check(t, args{"package": "./win"}); !out.OK || out.Packages != 1 {
		t.Errorf("a package without problems: %s", out.Text())
	}
}

// With -trimpath, the build cache's answer of go vet is that of any directory with the same files.
func TestCheckPackageOfTwoEqualWorkspaces(t *testing.T) {
	t.Setenv("GOFLAGS", "-trimpath")
	files := map[string]string{
		"go.mod": "module example.com/twice\n\ngo 1.24\n",
		"a.go":   "package twice\n\nfunc Keep(x int) {\n\tx = x\n}\n",
	}
	for range 2 {
		out := fresh(t, files).check(t, args{})
		if len(out.Problems) != 1 || out.Problems[0].File != "a.go" || out.Problems[0].Line != 4 {
			t.Error(out.Text())
		}
	}
}

// Packages that are not of the workspace, and arguments that are not packages.
func TestPackagesThatAreRefused(t *testing.T) {
	t.Parallel()
	p := sharedShop(t)
	for _, name := range []string{"check_package", "run_tests"} {
		for _, pkg := range []string{"../x", "/etc", "-a", "./../..", "./a/../../b", "-toolexec=/bin/sh", "std"} {
			res, err := p.Call(t, name, args{"package": pkg})
			if tool.CodeOf(err) != tool.CodePermissionDenied && (pkg != "std" || !res.IsError) {
				t.Errorf("%s %s: %s, %v", name, pkg, res.Text(), err)
			}
		}
		for _, pkg := range []string{"nope", "./nope", "golang.org/...", "./empty"} {
			if res, err := p.Call(t, name, args{"package": pkg}); err != nil || !res.IsError && pkg != "./empty" || strings.Contains(res.Text(), p.Root) {
				t.Errorf("%s %s: %s, %v", name, pkg, res.Text(), err)
			}
		}
	}
	if res, err := p.Call(t, "run_tests", args{"package": "fmt/..."}); tool.CodeOf(err) != tool.CodePermissionDenied {
		t.Errorf("a package of the standard library: %s, %v", res.Text(), err)
	}
}

func TestRunTests(t *testing.T) {
	t.Parallel()
	p := fresh(t, suite)
	out := p.test(t, args{"package": "./ok"})
	if !out.OK || out.Passed != 2 || out.Skipped != 1 || out.Packages != 1 || strings.Contains(out.Text(), "says so") {
		t.Errorf("tests that pass: %s", out.Text())
	}
	if out := p.test(t, args{"test": "TestOne", "verbose": true}); !out.OK || out.Passed != 1 || !strings.Contains(out.Text(), "ok/ok_test.go:5: one says so") {
		t.Errorf("the output of a test that passes: %s", out.Text())
	}
	var reports []tool.Progress
	ctx := tool.WithProgress(t.Context(), func(p tool.Progress) { reports = append(reports, p) })
	res, err := p.Execute(ctx, p.NewCall(t, "run_tests", args{"package": "./ok"}))
	if err != nil || !strings.HasPrefix(res.Text(), "ok: 2 passed, 1 skipped in 1 package (1 cached)") {
		t.Errorf("once more: %s, %v", res.Text(), err)
	}
	if n := len(reports); n != 2 || reports[1] != (tool.Progress{Done: 1, Total: 1, Message: "ok example.com/suite/ok"}) {
		t.Errorf("progress: %+v", reports)
	}
	for want, arguments := range map[string]args{
		"no test is named TestOn; did you mean TestOne": {"package": "./ok", "test": "TestOn"},
		"no subtest matches TestTwo/other":              {"package": "./ok", "test": "TestTwo/other"},
		"there are no test files in these packages":     {"package": "./win", "test": "TestX"},
	} {
		if out := p.test(t, arguments); out.OK || out.Kind != "none" || !strings.Contains(out.Text(), want) {
			t.Errorf("%v: %s", arguments, out.Text())
		}
	}
	if out := p.test(t, args{"package": "./vet"}); out.OK || out.Kind != "build" || len(out.Build) != 1 || out.Build[0].String() != "vet/vet_test.go:5:28: undefined: missing" {
		t.Errorf("tests that do not compile: %s", out.Text())
	}
}

// How tests fail: each is one entry, with its place in the workspace.
func TestRunTestsThatFail(t *testing.T) {
	links(t)
	t.Parallel()
	p := fresh(t, suite)
	for _, c := range []struct {
		test  string
		want  gotest.Failure // but for the package and the time
		stack string
	}{
		{"TestFails/sub one", gotest.Failure{
			Test: "TestFails/sub_one", Kind: "fail", Position: "bad/bad_test.go:12", Message: "got 1", Failed: 1,
			Output: "    bad/bad_test.go:11: only a log\n    bad/bad_test.go:12: got 1\n        want 2",
		}, ""},
		{"TestPanics", gotest.Failure{
			Test: "TestPanics", Kind: "panic", Position: "bad/bad_test.go:18", Message: "assignment to entry in nil map", Failed: 1,
		}, "bad.TestPanics bad/bad_test.go:18"},
		{"TestHangs", gotest.Failure{
			Test: "TestHangs", Kind: "timeout", Position: "bad/bad_test.go:26", Message: "test timed out after 1s; running: TestHangs (1s)",
		}, "created by bad.TestHangs bad/bad_test.go:22"},
		{"TestExits", gotest.Failure{
			Test: "TestExits", Kind: "exit", Message: "the test binary ended itself while this test ran; look for os.Exit and log.Fatal",
		}, ""},
	} {
		out := p.test(t, args{"test": c.test, "timeout": "1s"})
		if out.Failed() {
			t.Errorf("%s is a failure of the tool", c.test)
		}
		if out.OK || out.Kind != "fail" || len(out.Failures) != 1 || out.FailedTests != 1 {
			t.Errorf("%s: %s", c.test, out.Text())
			continue
		}
		got := out.Failures[0]
		if !strings.Contains(got.Stack, c.stack) || strings.Contains(got.Stack, "testing.") || got.Package != "example.com/suite/bad" {
			t.Errorf("%s: %+v", c.test, got)
		}
		got.Stack, got.Package, got.Seconds = "", "", 0
		assert.Equalf(t, got, c.want, "%s", c.test)
	}
}

// A call that is given up ends the tests.
func TestCanceledTests(t *testing.T) {
	ready := filepath.Join(t.TempDir(), "ready")
	t.Setenv("READY", ready)
	p := fresh(t, suite)
	err := p.abandon(t, ready, "run_tests", args{"test": "TestLeaves"})
	if _, read := os.Stat(ready); tool.CodeOf(err) != tool.CodeCanceled || read != nil {
		t.Errorf("got %v, %v", err, read)
	}
}

// The packages of a go.work workspace are those of its modules; a module that it leaves out is named.
func TestWorkspaceOfModules(t *testing.T) {
	t.Parallel()
	p := fresh(t, map[string]string{
		"go.work":  "go 1.25\n\nuse (\n\t./a\n\t./b\n)\n",
		"a/go.mod": "module example.com/a\n\ngo 1.25\n", "a/a.go": "package a\n\nconst A = 1\n",
		"b/go.mod": "module example.com/b\n\ngo 1.25\n", "b/deep/b.go": "package b\n\nconst B = 2\n",
		"c/go.mod": "module example.com/c\n\ngo 1.25\n", "c/c.go": "package c\n",
	})
	if out := p.check(t, args{}); !out.OK || out.Packages != 2 || !strings.Contains(out.Note, "not included: c; name one as ./c/...") {
		t.Errorf("everything: %s", out.Text())
	}
	for _, pkg := range []string{"deep", "./b/deep", "example.com/b/deep"} {
		if out := p.check(t, args{"package": pkg}); !out.OK || out.Packages != 1 {
			t.Errorf("%s: %s", pkg, out.Text())
		}
	}
}
