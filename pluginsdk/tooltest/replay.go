package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Replay returns a provider that answers from a file of [Record], for tests of agents and of what
// else makes calls: it serves the recorded definitions, and a call with the name and the arguments of
// a recorded one ends as that did, with its progress before. Arguments are compared as JSON,
// whatever the order of keys and the notation of numbers; sensitive ones may have any value. A call that
// was recorded several times with different ends is answered by one after the other, and by
// the last from then on. IDs, sessions and questions do not count, and nothing takes time.
//
// # Errors
//
// Replay itself: those of reading the file. Calls that were not recorded fail with
// [tool.CodeUnsupported] and an error that says which calls of the tool are.
func Replay(file string) (tool.Provider, error) {
	text, err := os.ReadFile(file)
	if err != nil {
		return nil, err
	}
	var in recording
	var small bytes.Buffer // as plugins send JSON, without the file's indentation
	if err = json.Compact(&small, text); err == nil {
		err = json.Unmarshal(small.Bytes(), &in)
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not a recording: %w", file, err)
	}
	p := &player{file: file, tools: map[string]tool.Definition{}, calls: map[string][]*recordedCall{}}
	for _, d := range in.Tools {
		if err := d.Check(); err != nil {
			return nil, fmt.Errorf("%s: %w", file, err)
		}
		p.tools[d.Name] = d
	}
	for i, c := range in.Calls {
		if (c.Result == nil) == (c.Error == nil) {
			return nil, fmt.Errorf("%s: call %d, of %s, must have either a result or an error", file, i+1, c.Tool)
		}
		if c.Preview && c.Error != nil && c.Error.Code == tool.CodeNotFound {
			c.Error.Err = tool.ErrNoPreview
		}
		k := key(c.Tool, withoutSensitive(c.Arguments, p.tools[c.Tool].Sensitive), c.Preview)
		p.calls[k] = append(p.calls[k], c)
	}
	return p, nil
}

// player implements [tool.Provider] and [tool.Previewer] with a recording.
type player struct {
	file  string
	tools map[string]tool.Definition

	mu    sync.Mutex
	calls map[string][]*recordedCall // what is still to come of each; the last stays
}

// List implements [tool.Provider].
func (p *player) List(ctx context.Context) ([]tool.Definition, error) {
	if err := ctx.Err(); err != nil {
		return nil, tool.AsError(err)
	}
	var out []tool.Definition
	for _, d := range p.tools {
		out = append(out, d.Clone())
	}
	slices.SortFunc(out, func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// Execute implements [tool.Provider].
func (p *player) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return p.play(ctx, call, false)
}

// Preview implements [tool.Previewer].
func (p *player) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	return p.play(ctx, call, true)
}

// Close implements [tool.Provider].
func (p *player) Close(context.Context) error { return nil }

func (p *player) play(ctx context.Context, call tool.Call, preview bool) (tool.Result, error) {
	d, there := p.tools[call.Name]
	if !there {
		return tool.Result{}, tool.Errorf(tool.CodeNotFound, "Unknown tool: %s", call.Name).
			Of(call.Name, "").At(callstage.Resolve)
	}
	if err := ctx.Err(); err != nil {
		return tool.Result{}, tool.ExecutionError(call.Name, err)
	}
	args := withoutSensitive(call.Arguments, d.Sensitive)
	c := p.next(key(call.Name, args, preview))
	if c == nil {
		return tool.Result{}, p.missing(call.Name, args, preview)
	}
	for _, report := range c.Progress {
		tool.Report(ctx, report)
	}
	if c.Error != nil {
		return tool.Result{}, new(*c.Error)
	}
	return copied(*c.Result), nil
}

// next returns the recorded call that answers one; nil: there is none.
func (p *player) next(key string) *recordedCall {
	p.mu.Lock()
	defer p.mu.Unlock()
	calls := p.calls[key]
	if len(calls) == 0 {
		return nil
	}
	if len(calls) > 1 {
		p.calls[key] = calls[1:]
	}
	return calls[0]
}

// copied returns a result that a caller may change.
func copied(r tool.Result) tool.Result {
	r.Structured, r.Meta = slices.Clone(r.Structured), slices.Clone(r.Meta)
	r.Content = slices.Clone(r.Content)
	for i, c := range r.Content {
		switch c := c.(type) {
		case tool.ImageContent:
			c.Data = slices.Clone(c.Data)
			r.Content[i] = c
		case tool.AudioContent:
			c.Data = slices.Clone(c.Data)
			r.Content[i] = c
		case tool.ResourceContent:
			c.Blob = slices.Clone(c.Blob)
			r.Content[i] = c
		}
	}
	return r
}

// maxMentioned is how many recorded calls an error mentions.
const maxMentioned = 8

// missing says which calls are recorded of a tool.
func (p *player) missing(name string, args json.RawMessage, preview bool) error {
	what := key(name, nil, preview)
	p.mu.Lock()
	defer p.mu.Unlock()
	var there []string
	for k := range p.calls {
		if rest, ok := strings.CutPrefix(k, what); ok {
			there = append(there, shortened(rest))
		}
	}
	slices.Sort(there)
	which := "none is"
	if n := len(there); n > maxMentioned {
		which = fmt.Sprintf("%d are, among them %s", n, strings.Join(there[:maxMentioned], ", "))
	} else if n > 0 {
		which = "recorded are " + strings.Join(there, ", ")
	}
	return tool.Errorf(tool.CodeUnsupported, "%s has no call of %s%s: %s", p.file, what, shortened(string(args)), which).
		Of(name, "").At(callstage.Execute).Try("record it with tooltest.Record")
}

// shortened returns the beginning of arguments.
func shortened(args string) string {
	const most = 200
	if len(args) <= most {
		return args
	}
	return strings.ToValidUTF8(args[:most], "") + "…"
}
