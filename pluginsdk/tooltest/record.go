package tooltest

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/redact"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// recording is the content of a file of [Record].
type recording struct {
	Tools []tool.Definition `json:"tools"`
	Calls []*recordedCall   `json:"calls"`
}

// recordedCall is a call and what it ended with.
type recordedCall struct {
	Tool      string          `json:"tool"`
	Arguments json.RawMessage `json:"arguments"`
	Preview   bool            `json:"preview,omitempty"`
	Progress  []tool.Progress `json:"progress,omitempty"`
	Result    *tool.Result    `json:"result,omitempty"`
	Error     *tool.Error     `json:"error,omitempty"`
}

// Record returns a provider that passes calls on to p, and when it is closed, closes p and writes to
// file what [Replay] needs: the definitions, and each call with its progress and its result or
// error. The file is JSON, sorted, and has no times, so that it can be kept with the tests and
// compared.
//
// The values of arguments that definitions call sensitive are redacted, and where texts of four
// bytes and more among them occur in results, there too. Look at the file before you
// publish it all the same. A provider that was not used writes nothing. Calls whose context has ended, and calls of tools that do not exist, are left
// out. Questions of tools are passed on and not recorded.
func Record(p tool.Provider, file string) tool.Provider {
	return &recorder{Provider: p, file: file, tools: map[string]tool.Definition{}}
}

type recorder struct {
	tool.Provider
	file string

	mu     sync.Mutex
	tools  map[string]tool.Definition // all that were listed
	calls  []*recordedCall
	closed bool
}

// List implements [tool.Provider].
func (r *recorder) List(ctx context.Context) ([]tool.Definition, error) {
	defs, err := r.Provider.List(ctx)
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, d := range defs {
		r.tools[d.Name] = d.Clone()
	}
	return defs, err
}

// Execute implements [tool.Provider].
func (r *recorder) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	var mu sync.Mutex
	var reports []tool.Progress
	caller := callctx.Get[func(tool.Progress)](ctx, callctx.Progress{})
	watched := tool.WithProgress(ctx, func(p tool.Progress) {
		mu.Lock()
		reports = append(reports, p)
		mu.Unlock()
		if caller != nil {
			caller(p)
		}
	})
	res, err := r.Provider.Execute(watched, call)
	mu.Lock()
	defer mu.Unlock()
	return res, r.add(ctx, call, &recordedCall{Progress: reports}, res, err)
}

// Preview implements [tool.Previewer].
func (r *recorder) Preview(ctx context.Context, call tool.Call) (tool.Result, error) {
	p, ok := r.Provider.(tool.Previewer)
	if !ok {
		return tool.Result{}, tool.NoPreview(call.Name)
	}
	res, err := p.Preview(ctx, call)
	return res, r.add(ctx, call, &recordedCall{Preview: true}, res, err)
}

// add keeps a call, and returns its error.
func (r *recorder) add(ctx context.Context, call tool.Call, c *recordedCall, res tool.Result, err error) error {
	if ctx.Err() != nil || errors.Is(err, tool.ErrNotFound) && !errors.Is(err, tool.ErrNoPreview) {
		return err
	}
	if c.Tool, c.Arguments = call.Name, slices.Clone(call.Arguments); err != nil {
		c.Error = new(*tool.AsError(err))
	} else {
		c.Result = &res
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.calls = append(r.calls, c)
	return err
}

// Close implements [tool.Provider].
func (r *recorder) Close(ctx context.Context) error {
	r.mu.Lock()
	used := !r.closed && len(r.tools)+len(r.calls) > 0
	r.closed = true
	r.mu.Unlock()
	var err error
	if used {
		_, err = r.List(ctx) // it may have tools that were not listed, and were called
		err = errors.Join(err, r.write())
	}
	return errors.Join(err, r.Provider.Close(ctx))
}

// write writes what was recorded so far.
func (r *recorder) write() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	out := recording{Tools: []tool.Definition{}, Calls: []*recordedCall{}}
	for _, d := range r.tools {
		out.Tools = append(out.Tools, d)
	}
	slices.SortFunc(out.Tools, func(a, b tool.Definition) int { return strings.Compare(a.Name, b.Name) })
	byKey := map[string][]*recordedCall{}
	var keys []string
	for _, c := range r.calls {
		kept, err := hideSensitive(c, r.tools[c.Tool].Sensitive)
		if err != nil {
			return err
		}
		k := key(kept.Tool, kept.Arguments, kept.Preview)
		if byKey[k] == nil {
			keys = append(keys, k)
		}
		byKey[k] = append(byKey[k], kept)
	}
	slices.Sort(keys)
	for _, k := range keys {
		out.Calls = append(out.Calls, withoutRepeats(byKey[k])...)
	}
	text, err := encode(out)
	if err != nil {
		return err
	}
	return writeFile(r.file, text)
}

// withoutRepeats returns one call for several that all ended the same.
func withoutRepeats(calls []*recordedCall) []*recordedCall {
	first, _ := json.Marshal(calls[0])
	for _, c := range calls[1:] {
		if other, _ := json.Marshal(c); !bytes.Equal(first, other) {
			return calls
		}
	}
	return calls[:1]
}

// minHidden is how long a sensitive text must be to be looked for in results, in bytes.
const minHidden = 4

// hideSensitive returns a call with canonical arguments, without its sensitive values.
func hideSensitive(c *recordedCall, sensitive []string) (*recordedCall, error) {
	out := *c
	out.Arguments = withoutSensitive(c.Arguments, sensitive)
	texts := sensitiveTexts(c.Arguments, sensitive)
	if len(texts) == 0 {
		return &out, nil
	}
	args := out.Arguments
	out.Arguments = nil
	text, err := json.Marshal(out)
	if err != nil {
		return nil, err
	}
	for _, secret := range texts {
		quoted, _ := json.Marshal(secret) // strings never fail
		text = bytes.ReplaceAll(text, quoted[1:len(quoted)-1], []byte("[redacted]"))
	}
	var clean recordedCall
	if err := json.Unmarshal(text, &clean); err != nil {
		return nil, err
	}
	clean.Arguments = args
	return &clean, nil
}

// withoutSensitive returns arguments in their canonical form: keys sorted, numbers exact, the
// values of these names redacted.
func withoutSensitive(args json.RawMessage, sensitive []string) json.RawMessage {
	if len(args) == 0 {
		return json.RawMessage("{}")
	}
	v, err := parse(string(args))
	if err != nil {
		return json.RawMessage("null") // no host sends it
	}
	out, err := json.Marshal(v)
	if err != nil {
		return json.RawMessage("null")
	}
	hides := func(key string) bool { return redact.Among(sensitive, key) }
	if kept, digest := redact.Values(out, hides, len(out)+len(redact.Mark)*len(out)); digest != "" {
		return kept
	}
	return out
}

// sensitiveTexts returns the texts in the values of these names, the longest first.
func sensitiveTexts(args json.RawMessage, sensitive []string) (texts []string) {
	var walk func(v any, within bool)
	walk = func(v any, within bool) {
		switch v := v.(type) {
		case map[string]any:
			for k, below := range v {
				walk(below, within || redact.Among(sensitive, k))
			}
		case []any:
			for _, below := range v {
				walk(below, within)
			}
		case string:
			if within && len(v) >= minHidden {
				texts = append(texts, v)
			}
		}
	}
	v, _ := parse(string(args))
	walk(v, false)
	slices.SortFunc(texts, func(a, b string) int { return len(b) - len(a) })
	return texts
}

// key identifies calls that are answered alike.
func key(name string, canonical json.RawMessage, preview bool) string {
	k := name + " " + string(canonical)
	if preview {
		k = "preview of " + k
	}
	return k
}
