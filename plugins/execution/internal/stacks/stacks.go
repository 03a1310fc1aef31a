// Package stacks reads the goroutines that the Go runtime prints when a program crashes or
// is told to quit, and shortens them to what a reader needs. Start with [Parse].
package stacks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

// Goroutine is one goroutine of a dump.
type Goroutine struct {
	ID     int
	State  string  // as the runtime prints it, such as "chan receive, 2 minutes"
	Frames []Frame // the innermost first, the statement that started the goroutine last
}

// Frame is a place in a stack.
type Frame struct {
	Func string // with its package's whole path
	File string
	Line int
	// Created says that the goroutine was started here.
	Created bool
}

var (
	header   = lazy.Regexp(`^goroutine (\d+)(?: [a-z]+=\S+)* \[(.*)\]:$`)
	location = lazy.Regexp(`^\t(.+):(\d+)(?: \+0x[0-9a-f]+)?(?: .*)?$`)
)

// Parse reads the goroutines of a dump, in its order. before is the text in front of them.
func Parse(dump string) (before string, out []Goroutine) {
	var head strings.Builder
	var at *Goroutine
	var pending Frame
	for line := range strings.Lines(dump) {
		line = strings.TrimRight(line, "\r\n")
		if m := header().FindStringSubmatch(line); m != nil {
			id, _ := strconv.Atoi(m[1])
			out = append(out, Goroutine{ID: id, State: m[2]})
			at, pending = &out[len(out)-1], Frame{}
			continue
		}
		switch {
		case at == nil && len(out) == 0:
			head.WriteString(line + "\n")
		case at == nil:
		case line == "":
			at = nil
		case !strings.HasPrefix(line, "\t"):
			pending = frame(line)
		default:
			if m := location().FindStringSubmatch(line); m != nil && pending.Func != "" {
				pending.File = m[1]
				pending.Line, _ = strconv.Atoi(m[2])
				at.Frames = append(at.Frames, pending)
			}
			pending = Frame{}
		}
	}
	return strings.TrimSpace(head.String()), out
}

// frame reads the line of a frame that names its function.
func frame(line string) Frame {
	name, created := strings.CutPrefix(line, "created by ")
	name, _, _ = strings.Cut(name, " in goroutine ")
	if end := strings.LastIndexByte(name, '('); end > 0 && strings.HasSuffix(name, ")") && !created {
		name = name[:openingParenthesis(name)]
	}
	return Frame{Func: name, Created: created}
}

// openingParenthesis returns where the arguments begin that end a frame's text. Receivers
// and arguments have parentheses too.
func openingParenthesis(text string) int {
	depth := 0
	for i := len(text) - 1; i >= 0; i-- {
		switch text[i] {
		case ')', '}':
			depth++
		case '(', '{':
			if depth--; depth == 0 {
				return i
			}
		}
	}
	return len(text)
}

// isRuntime reports whether a frame is of the runtime or of the machinery of tests, which
// says nothing about the program.
func (f Frame) isRuntime() bool {
	return f.Func == "panic" || strings.HasPrefix(f.Func, "runtime.") || strings.HasPrefix(f.Func, "testing.") ||
		strings.HasPrefix(f.Func, "internal/runtime/") || strings.HasPrefix(f.File, "_testmain.go")
}

// String returns the frame in one line.
func (f Frame) String() string {
	name := f.Func[strings.LastIndexByte(f.Func, '/')+1:]
	if f.Created {
		name = "created by " + name
	}
	return fmt.Sprintf("%s %s:%d", name, f.File, f.Line)
}

// waits are the beginnings of the states of goroutines that only another goroutine can
// wake.
var waits = []string{"chan ", "select", "sync.", "semacquire", "GC assist"}

// IsBlocked reports whether only another goroutine can wake the goroutine.
func (g Goroutine) IsBlocked() bool {
	return slices.ContainsFunc(waits, func(w string) bool { return strings.HasPrefix(g.State, w) })
}

// Own returns the goroutines that have a frame which isOwn accepts, without the frames of
// the runtime. The frames that isHidden accepts are left out too.
func Own(all []Goroutine, isOwn, isHidden func(Frame) bool) []Goroutine {
	var out []Goroutine
	for _, g := range all {
		kept, own := g, false
		kept.Frames = nil
		for _, f := range g.Frames {
			if !f.isRuntime() && !isHidden(f) {
				kept.Frames = append(kept.Frames, f)
				own = own || isOwn(f)
			}
		}
		if own {
			out = append(out, kept)
		}
	}
	return out
}

// maxFrames bounds the frames of one goroutine that [Text] shows: the innermost, and the
// outermost four.
const maxFrames = 24

// Text shows goroutines in at most size bytes. Those with the same stack are shown once.
func Text(all []Goroutine, size int) string {
	type group struct {
		text  string
		first Goroutine
		count int
	}
	var groups []*group
	known := map[string]*group{}
	for _, g := range all {
		var b strings.Builder
		for i, f := range g.Frames {
			if left := len(g.Frames) - i; i >= maxFrames-4 && left > 4 {
				if i == maxFrames-4 {
					fmt.Fprintf(&b, "\n\t[... %d more frames ...]", left-4)
				}
				continue
			}
			b.WriteString("\n\t" + f.String())
		}
		state, _, _ := strings.Cut(g.State, ",") // how long it has waited differs
		key := state + b.String()
		if known[key] == nil {
			known[key] = &group{text: b.String(), first: g}
			groups = append(groups, known[key])
		}
		known[key].count++
	}
	var out strings.Builder
	for i, g := range groups {
		text := fmt.Sprintf("goroutine %d [%s]:%s", g.first.ID, g.first.State, g.text)
		if g.count > 1 {
			text = fmt.Sprintf("%d goroutines [%s]:%s", g.count, g.first.State, g.text)
		}
		if out.Len()+len(text) > size && i > 0 {
			fmt.Fprintf(&out, "\n[... %d more stacks ...]", len(groups)-i)
			break
		}
		if i > 0 {
			out.WriteString("\n")
		}
		out.WriteString(text)
	}
	return out.String()
}
