package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocheck"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const checkDescription = `Compiles packages of the workspace with their tests, runs go vet on them, and returns what is wrong as FILE:LINE:COLUMN, from the workspace's root.

Use it after an edit instead of go build and go vet. Nothing is run, linked or written into the workspace. What does not compile comes first; the compiler stops after ten problems in a package.`

// Bounds of limit, in problems.
const (
	defaultProblems = 50
	mostProblems    = 500
)

type checkIn struct {
	Package string   `json:"package,omitempty" `
	Tests   *bool    `json:"tests,omitempty" jsonschema:"include test files"`
	Tags    []string `json:"tags,omitempty" jsonschema:"build tags, such as integration"`
	GOOS    string   `json:"goos,omitempty" jsonschema:"check for another system, such as windows or darwin/arm64"`
	Limit   int      `json:"limit,omitempty" jsonschema:"the most problems to return"`
}

// checked is the result of check_package.
type checked struct {
	OK         bool              `json:"ok" jsonschema:"everything compiles, and go vet found nothing"`
	Packages   int               `json:"packages" jsonschema:"how many were looked at"`
	Problems   []gocheck.Problem `json:"problems"`
	Total      int               `json:"total" jsonschema:"problems that were found"`
	NotChecked []string          `json:"not_checked,omitempty" jsonschema:"packages that need others which do not compile"`
	Seconds    float64           `json:"seconds"`
	Note       string            `json:"note,omitempty"`
}

func checkPackage(e *evaluator) tool.Tool {
	check := func(ctx context.Context, in checkIn) (checked, error) {
		out := checked{Problems: []gocheck.Problem{}}
		err := e.work(ctx, func(temp string) error { return out.check(ctx, e, in, temp) })
		return out, err
	}
	return readable.Func("check_package", checkDescription, check, append(workOptions("Check packages"),
		pluginsdk.Argument("package", fmt.Sprintf(`{"description": %q}`, "what to check: "+packagesHelp)),
		pluginsdk.Argument("tests", `{"type": "boolean", "default": true}`),
		pluginsdk.Argument("goos", `{"maxLength": 64, "pattern": "^[a-z0-9]*(/[a-z0-9]+)?$"}`),
		pluginsdk.Argument("limit",
			fmt.Sprintf(`{"minimum": 1, "maximum": %d, "default": %d}`, mostProblems, defaultProblems)),
	)...)
}

func (out *checked) check(ctx context.Context, e *evaluator, in checkIn, temp string) error {
	begin := time.Now()
	s, err := e.compiler.Finder.Select(ctx, in.Package, temp)
	if err != nil {
		return err
	}
	system, architecture, _ := strings.Cut(in.GOOS, "/")
	for name, value := range map[string]string{"GOOS": system, "GOARCH": architecture} {
		if value != "" {
			s.Go.Env = append(s.Go.Env, name+"="+value)
		}
	}
	c := &gocheck.Checker{
		Finder: e.compiler.Finder, Scrub: e.compiler.Scrubber.For(ctx, s.Go),
		Flags: tagFlags(in.Tags), Tests: in.Tests == nil || *in.Tests,
		Report: func(done int, doing string) {
			tool.Report(ctx, tool.Progress{Done: float64(done), Total: 2, Message: doing})
		},
	}
	found, err := c.Check(ctx, s)
	if err != nil {
		return err
	}
	limit := in.Limit
	if limit <= 0 {
		limit = defaultProblems
	}
	out.Packages, out.Total, out.NotChecked = found.Packages, len(found.Problems), found.NotChecked
	out.Problems = append(out.Problems, found.Problems[:min(limit, len(found.Problems))]...)
	out.OK = out.Total == 0
	out.Seconds = seconds(begin)
	out.Note = leftOut(s.LeftOut)
	if found.More {
		out.Note = strings.TrimSpace("the compiler reports ten errors of a package; there are more. " + out.Note)
	}
	return nil
}

// leftOut says which modules a call did not reach.
func leftOut(modules []string) string {
	if len(modules) == 0 {
		return ""
	}
	return fmt.Sprintf("modules in the workspace that are not included: %s; name one as ./%s/...",
		strings.Join(modules, ", "), modules[0])
}

func seconds(since time.Time) float64 {
	return time.Since(since).Round(10 * time.Millisecond).Seconds()
}

// maxNotChecked bounds how many packages the text names.
const maxNotChecked = 5

// Text returns the result for a reader.
func (out checked) Text() string {
	var b strings.Builder
	if out.OK { // go vet sees only what compiles
		fmt.Fprintf(&b, "ok: the compiler and go vet found nothing in %s (%.1fs)", packages(out.Packages), out.Seconds)
	} else {
		fmt.Fprintf(&b, "%s in %s:", plural(out.Total, "problem"), packages(out.Packages))
	}
	for _, p := range out.Problems {
		b.WriteString("\n" + p.String())
	}
	if n := out.Total - len(out.Problems); n > 0 {
		fmt.Fprintf(&b, "\n[... %d more problems; raise limit, or mend these first ...]", n)
	}
	if n := len(out.NotChecked); n > 0 {
		names := slices.Clone(out.NotChecked[:min(n, maxNotChecked)])
		if n > maxNotChecked {
			names = append(names, fmt.Sprintf("%d more", n-maxNotChecked))
		}
		fmt.Fprintf(&b, "\nnot checked, because they need what does not compile: %s", strings.Join(names, ", "))
	}
	if out.Note != "" {
		b.WriteString("\nnote: " + out.Note)
	}
	return b.String()
}

func packages(n int) string { return plural(n, "package") }

func plural(n int, noun string) string {
	if n == 1 {
		return "1 " + noun
	}
	return fmt.Sprintf("%d %ss", n, noun)
}
