package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/listed"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// listTTL is how many milliseconds a client may keep a list without asking again: long enough
// for the questions of one turn, short enough for a tool that is new.
const listTTL = 1000

// catalogue has the tools of the host in the form in which lists have them, which each keeps as long as its
// definition stays. Clients share it; which of them a list has is decided again for each page.
type catalogue struct {
	all *host.Session // of no caller

	mu      sync.Mutex
	now     *prepared
	headers map[string]bool // the tools that the SDK knows, see bindHeaders
}

// prepared are the tools of one moment.
type prepared struct {
	at      any
	byName  []*shown
	byAlias func() []*shown
}

// shown is a tool in the lists of clients.
type shown struct {
	listed.Tool
	headers json.RawMessage // its schema, if arguments travel in headers too
	texts   [4]atomic.Pointer[text]
}

// text is what a list has of a tool, in one form.
type text struct {
	json json.RawMessage
	sum  uint64
}

// form is how a client is shown a tool.
type form int

const (
	canonicalName form = 1 << iota // by its name, not its alias
	anyOutput                      // with an output schema that is not one of objects
)

func newCatalogue(h *host.Host) *catalogue {
	return &catalogue{all: h.Session(), headers: map[string]bool{}}
}

// prepare returns the tools of a list. Those that are as they were stay.
func (c *catalogue) prepare(l listed.List) *prepared {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.now != nil && c.now.at == l.At {
		return c.now
	}
	var before []*shown
	if c.now != nil {
		before = c.now.byName
	}
	all := make([]*shown, 0, len(before))
	for t := range l.All {
		for len(before) > 0 && before[0].Def.Name < t.Def.Name {
			before = before[1:]
		}
		if len(before) > 0 && before[0].Tool == t {
			all = append(all, before[0])
			continue
		}
		made := &shown{Tool: t}
		if schema := inputSchema(t.Def); mayHaveHeaders(schema) && taken(schema) {
			made.headers = schema
		}
		all = append(all, made)
	}
	c.now = &prepared{l.At, all, sync.OnceValue(func() []*shown { return sorted(slices.Clone(all), 0) })}
	return c.now
}

// tools are all of the host, sorted by name.
func (c *catalogue) tools() []*shown { return c.prepare(listed.Of(c.all)).byName }

func sorted(all []*shown, f form) []*shown {
	slices.SortFunc(all, func(a, b *shown) int { return strings.Compare(a.name(f), b.name(f)) })
	return all
}

// in returns the tools of a list, sorted by the names that a client knows.
func (c *catalogue) in(l listed.List, f form) []*shown {
	switch {
	case len(l.Own) > 0:
		var all []*shown
		for i := range l.Own {
			all = append(all, &shown{Tool: listed.Tool{Def: &l.Own[i], Alias: l.Own[i].Alias}})
		}
		return sorted(all, f)
	case f&canonicalName != 0:
		return c.prepare(l).byName
	}
	return c.prepare(l).byAlias()
}

// toolJSON is a Tool of the protocol.
type toolJSON struct {
	Name         string               `json:"name"`
	Title        string               `json:"title,omitempty"`
	Description  string               `json:"description"`
	InputSchema  json.RawMessage      `json:"inputSchema"`
	OutputSchema json.RawMessage      `json:"outputSchema,omitempty"`
	Annotations  *mcp.ToolAnnotations `json:"annotations"`
	Icons        json.RawMessage      `json:"icons,omitempty"`
	Meta         json.RawMessage      `json:"_meta,omitempty"`
}

// in returns what a list has of the tool.
func (t *shown) in(f form) *text {
	known := t.texts[f].Load()
	if known == nil {
		b := t.encode(f)
		known = &text{b, maphash.Bytes(listSeed, b)}
		t.texts[f].Store(known)
		if len(t.Def.OutputSchema) == 0 || isObjectSchema(t.Def.OutputSchema) {
			t.texts[f^anyOutput].Store(known)
		}
	}
	return known
}

func (t *shown) encode(f form) json.RawMessage {
	d := t.Def
	out := toolJSON{
		Name: t.name(f), Title: d.Title, Description: d.Description,
		InputSchema: inputSchema(d), Annotations: annotations(d), Icons: d.Icons, Meta: mcpjson.Unreserved(d.Meta),
	}
	if f&anyOutput != 0 || isObjectSchema(d.OutputSchema) {
		out.OutputSchema = d.OutputSchema
	}
	b, err := json.Marshal(out)
	if err != nil { // the registry has checked what JSON depends on
		return nil
	}
	return b
}

// isFor reports whether the client of a session may call the tool.
func (t *shown) isFor(session *host.Session) bool {
	d := *t.Def
	d.Alias = t.Alias
	return may(session, &d)
}

// name is the tool's, as a client knows it.
func (t *shown) name(f form) string {
	if f&canonicalName != 0 || t.Alias == "" {
		return t.Def.Name
	}
	return t.Alias
}

// annotations are what the operator says of a tool, or else the tool itself.
func annotations(d *tool.Definition) *mcp.ToolAnnotations {
	level := d.Safety.Effective()
	destructive := level == tool.Dangerous || level == tool.Cautious && d.Permission == tool.Exec
	open := d.Permission != tool.FSRead && d.Permission != tool.FSWrite
	return &mcp.ToolAnnotations{
		Title: d.Title, ReadOnlyHint: level == tool.Safe, IdempotentHint: d.Idempotent,
		DestructiveHint: &destructive, OpenWorldHint: &open,
	}
}

// visible returns the tools behind a name that the client may call, sorted by the names that it knows, and at
// most so many of them; -1: all.
func (c *clientSession) visible(f form, after string, most int) (out []*shown) {
	session := c.now()
	all := c.server.list.in(listed.Of(session), f)
	first, _ := slices.BinarySearchFunc(all, after, func(t *shown, after string) int {
		if t.name(f) <= after {
			return -1
		}
		return 1
	})
	for _, t := range all[first:] {
		if len(out) == most {
			break
		}
		if !t.Own && t.isFor(session) {
			out = append(out, t)
		}
	}
	return out
}

func (c *clientSession) form(latest bool) form {
	var f form
	if c.canonical {
		f |= canonicalName
	}
	if latest {
		f |= anyOutput
	}
	return f
}

// toolPage is a page of a list of tools.
type toolPage struct {
	mcp.ResultBase
	ResultType string            `json:"resultType,omitempty"`
	Tools      []json.RawMessage `json:"tools"`
	NextCursor string            `json:"nextCursor,omitempty"`
	mcp.Cacheable
}

// listTools answers tools/list.
func (c *clientSession) listTools(_ context.Context, r *mcp.ListToolsRequest) (mcp.Result, error) {
	latest := isStateless(r.Params.Meta)
	f := c.form(latest)
	after, err := openCursor("tools", r.Params.Cursor)
	if err != nil {
		return nil, err
	}
	size := c.server.opts.PageSize
	tools := c.visible(f, after, size+1)
	page := &toolPage{Tools: make([]json.RawMessage, min(len(tools), size)), Cacheable: listCache}
	if len(tools) > size {
		page.NextCursor = cursor("tools", tools[size-1].name(f))
	}
	if latest {
		page.ResultType = resultComplete
	}
	if c.server.starting() {
		page.Meta, page.TTLMs = mcp.Meta{mcpjson.Starting: c.awaited()}, 0
	}
	for i := range page.Tools {
		page.Tools[i] = tools[i].in(f).json
	}
	return page, nil
}

// pageAt returns the part of a list, which is sorted by keys, that a cursor is for, and the cursor
// of the next.
func pageAt[T any](c *clientSession, kind, at string, all []T, key func(*T) string) (page []T, next string, err error) {
	after, err := openCursor(kind, at)
	if err != nil {
		return nil, "", err
	}
	from := 0
	for from < len(all) && key(&all[from]) <= after {
		from++
	}
	all = all[from:]
	if size := c.server.opts.PageSize; len(all) > size {
		return all[:size], cursor(kind, key(&all[size-1])), nil
	}
	return all, "", nil
}

// cursor continues a list behind an item.
func cursor(kind, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + key))
}

// openCursor returns the item behind which a cursor continues a list of that kind; empty: it begins the list.
func openCursor(kind, text string) (string, error) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	key, ok := strings.CutPrefix(string(b), kind+":")
	if text != "" && (err != nil || !ok || key == "") {
		return "", invalid("unknown cursor; list again from the beginning")
	}
	return key, nil
}

var listSeed = maphash.MakeSeed()

// digest identifies the list that the client sees.
func (c *clientSession) digest() uint64 {
	f := c.form(true)
	var h maphash.Hash
	h.SetSeed(listSeed)
	for _, t := range c.visible(f, "", -1) {
		maphash.WriteComparable(&h, t.in(f).sum)
	}
	return h.Sum64()
}
