package output

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// clearLine clears the line of a terminal that the cursor is in.
const clearLine = "\r\x1b[K"

// Status shows a line on a terminal in place of the one that it showed before, until anything else is
// written; empty: no line. Elsewhere it does nothing.
func (o *Writer) Status(line string) {
	if !o.terminal {
		return
	}
	defer o.begin()()
	if line = sanitize.Line(line, 0); line != "" {
		o.status = true
		_, _ = io.WriteString(o.w, Shorten(line, cmp.Or(o.width, 80)-1)) // in the last column, it would take two
	}
}

// Progress returns a report of a tool as a line.
func Progress(p tool.Progress) string {
	done := strconv.FormatFloat(p.Done, 'g', 6, 64)
	if p.Total > 0 {
		done = fmt.Sprintf("%.0f%%", min(100*p.Done/p.Total, 100))
	}
	return strings.TrimSuffix(done+" "+p.Message, " ")
}

// Live shows a call while it runs: on a terminal at Err how far it is, and on one at Out the text that it
// streams.
type Live struct {
	Out, Err *Writer

	asking atomic.Int32 // questions that are on the terminal
	mu     sync.Mutex
	open   bool // the text has begun a line, which may be on the same terminal
}

// Watch returns ctx for the call.
func (l *Live) Watch(ctx context.Context) context.Context {
	if l.Err.terminal {
		ctx = tool.WithProgress(ctx, l.progress)
	}
	if l.Out.terminal {
		ctx = tool.WithDeltas(ctx, l.delta)
	}
	return ctx
}

// Asker returns an asker whose questions have the terminal to themselves.
func (l *Live) Asker(ask tool.Asker) tool.Asker {
	return func(ctx context.Context, q tool.Question) (tool.Answer, error) {
		l.asking.Add(1)
		defer l.asking.Add(-1)
		l.End()
		return ask(ctx, q)
	}
}

// End removes the last progress.
func (l *Live) End() { l.Err.Status("") }

func (l *Live) progress(p tool.Progress) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.open && l.asking.Load() == 0 {
		l.Err.Status(Progress(p))
	}
}

func (l *Live) delta(d tool.Delta) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.End()
	l.Out.Delta(d)
	l.open = d.Text != "" && !strings.HasSuffix(d.Text, "\n")
}
