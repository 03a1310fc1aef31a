package main

import (
	"cmp"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/gotest"
)

// Text returns the result for a reader, what failed first.
func (out testRun) Text() string {
	var b strings.Builder
	b.WriteString(out.summary())
	if out.Message != "" {
		b.WriteString("\n" + out.Message)
	}
	for _, p := range out.Build {
		b.WriteString("\n" + p.String())
	}
	for _, f := range out.Failures {
		writeFailure(&b, f)
	}
	if out.LeftOut > 0 {
		fmt.Fprintf(&b, "\n[... %d more failures; run one by name to see it ...]", out.LeftOut)
	}
	for name, list := range map[string][]string{"not run": out.Unbuilt, "not ended": out.Unfinished} {
		if len(list) > 0 {
			b.WriteString("\n" + name + ": " + strings.Join(list[:min(len(list), maxNotChecked)], ", "))
			if n := len(list) - maxNotChecked; n > 0 {
				fmt.Fprintf(&b, ", %d more", n)
			}
		}
	}
	if out.Passed == 0 || out.Output != "" {
		for _, s := range out.Skips {
			b.WriteString("\nskipped " + s.Test + ": " + s.Reason)
		}
	}
	if out.Output != "" {
		b.WriteString("\n" + strings.TrimRight(out.Output, "\n"))
	}
	if out.Note != "" {
		b.WriteString("\nnote: " + out.Note)
	}
	return b.String()
}

// summary returns the first line.
func (out testRun) summary() string {
	counts := fmt.Sprintf("%d passed", out.Passed)
	if out.FailedTests > 0 {
		counts = fmt.Sprintf("%d failed, %s", out.FailedTests, counts)
	}
	if out.Skipped > 0 {
		counts += fmt.Sprintf(", %d skipped", out.Skipped)
	}
	counts += " in " + packages(out.Packages-len(out.Unbuilt))
	if out.Cached > 0 {
		counts += fmt.Sprintf(" (%d cached)", out.Cached)
	}
	if n := len(out.Unbuilt); n > 0 {
		counts += fmt.Sprintf("; %s not built", packages(n))
	}
	head := map[bool]string{true: "ok: ", false: "FAIL: "}[out.OK]
	return fmt.Sprintf("%s%s (%.1fs)", head, counts, out.Seconds)
}

// writeFailure writes one failure: where and what in a line, then what the test printed, unless
// that says no more.
func writeFailure(b *strings.Builder, f gotest.Failure) {
	name := cmp.Or(f.Test, f.Package)
	if f.Position == "" && f.Test != "" {
		name += " in " + f.Package
	}
	fmt.Fprintf(b, "\n--- %s %s", strings.ToUpper(f.Kind), name)
	if f.Position != "" {
		b.WriteString(" " + f.Position)
	}
	if f.Passed > 0 || f.Failed > 1 {
		fmt.Fprintf(b, " (failed %d of %d times)", f.Failed, f.Failed+f.Passed)
	}
	if !strings.HasPrefix(strings.TrimSpace(f.Output), f.Message) && (f.Kind != "fail" || f.Output == "") {
		b.WriteString(": " + f.Message)
	}
	for _, part := range []string{f.Output, f.Stack} {
		if part != "" {
			b.WriteString("\n" + part)
		}
	}
}
