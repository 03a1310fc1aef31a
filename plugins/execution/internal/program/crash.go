package program

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
	"github.com/toolhost/toolhost/plugins/execution/internal/stacks"
)

// Crash is how the Go runtime ended a program.
type Crash struct {
	Message string
	Stack   string // of the goroutines of the form and the workspace
	Blocked string // why nothing can go on, as far as the stacks tell; empty: something can
	Stderr  string // without what the runtime printed
}

// quit begins what the runtime prints if the program is told to quit.
const quit = "SIGQUIT: quit"

// Crash returns how the Go runtime ended the program, in the workspace at root. ok is false
// if it did not.
//
// The runtime writes the stacks to a file of the report. It writes to standard
// error alone the line that names a fatal error, and everything if it ends the
// program before the package's first variables are set.
func (r Report) Crash(stderr, root string) (c Crash, ok bool) {
	printed, at := "\n"+stderr, -1
	for _, begin := range []string{"\npanic: ", "\nfatal error: ", "\n" + quit} {
		at = max(at, strings.LastIndex(printed, begin))
	}
	text := r.crash
	if first, _, _ := strings.Cut(text, "\n"); at < 0 && first != "" { // after a line without an end
		at = strings.LastIndex(printed, first) - 1
	}
	c.Stderr = stderr
	if at >= 0 {
		c.Stderr, printed = strings.TrimPrefix(printed[:at+1], "\n"), printed[at+1:]
		if text == "" {
			text = printed
		}
	}
	if text == "" {
		return c, false
	}
	names := func(begin string) bool { return strings.HasPrefix(text, begin) }
	if at >= 0 && !slices.ContainsFunc([]string{"panic: ", "fatal error: ", quit}, names) {
		first, _, _ := strings.Cut(printed, "\n")
		text = first + "\n\n" + strings.TrimLeft(text, "\n")
	}
	c.Message, _, _ = strings.Cut(text, "\n\n")
	if c.Message == "" {
		c.Message = "the program crashed"
	}
	_, all := stacks.Parse(text)
	own := stacks.Own(all, func(f stacks.Frame) bool { return isForm(f) || isBelow(f.File, root) }, isHarness)
	if len(own) == 0 { // a goroutine of a dependency, or of the runtime
		own = stacks.Own(all[:min(1, len(all))], func(stacks.Frame) bool { return true }, isHarness)
	}
	c.Stack, c.Blocked = stacks.Text(own, maxStack), blocked(own)
	return c, true
}

// maxStack bounds the stacks, in bytes.
const maxStack = 12 << 10

func isForm(f stacks.Frame) bool { return strings.HasPrefix(f.File, form.FilePrefix+"form") }

// isHarness reports whether a frame is of the code that runs the form.
func isHarness(f stacks.Frame) bool {
	return strings.HasPrefix(f.File, form.FilePrefix+"start") || strings.HasSuffix(f.Func, "."+runFunc) ||
		strings.HasPrefix(filepath.Base(f.File), filePrefix) || filepath.Base(filepath.Dir(f.File)) == MainDir
}

func isBelow(file, root string) bool {
	rel, err := filepath.Rel(root, file)
	return root != "" && err == nil && filepath.IsLocal(rel)
}

// blocked says where goroutines wait, if only another goroutine can wake each of them.
func blocked(own []stacks.Goroutine) string {
	if len(own) == 0 {
		return ""
	}
	for _, g := range own {
		if !g.IsBlocked() {
			return ""
		}
	}
	first := own[0]
	for _, f := range first.Frames {
		if isForm(f) {
			return fmt.Sprintf("%s at %s:%d", first.State, f.File, f.Line)
		}
	}
	return first.State
}
