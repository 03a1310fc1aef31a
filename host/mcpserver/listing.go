package mcpserver

import (
	"context"
	"encoding/base64"
	"encoding/json"
	"hash/maphash"
	"reflect"
	"slices"
	"strings"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// listTTL is how many milliseconds a client may keep a list without asking again: long enough
// for the questions of one turn, short enough for a tool that is new.
const listTTL = 1000

// catalogue remembers tools in the form in which lists have them.
type catalogue struct {
	host *host.Host

	mu      sync.Mutex
	known   map[string]*listed // by canonical name
	headers map[string]bool    // the tools that the SDK knows, see bindHeaders
}

// listed is a tool in the lists of clients.
type listed struct {
	def  tool.Definition
	json [4]json.RawMessage // by form
}

// form is how a client is shown a tool.
type form int

const (
	canonicalName form = 1 << iota // by its name, not its alias
	anyOutput                      // with an output schema that is not one of objects
)

func newCatalogue(h *host.Host) *catalogue {
	return &catalogue{host: h, known: map[string]*listed{}, headers: map[string]bool{}}
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

// of returns a tool's JSON in a form. It is remembered as long as the definition stays.
func (c *catalogue) of(d tool.Definition, f form) json.RawMessage {
	c.mu.Lock()
	defer c.mu.Unlock()
	l := c.known[d.Name]
	if l == nil || !reflect.DeepEqual(l.def, d) {
		l = &listed{def: d}
		c.known[d.Name] = l
	}
	if l.json[f] == nil {
		l.json[f] = encodeTool(d, f)
	}
	return l.json[f]
}

func encodeTool(d tool.Definition, f form) json.RawMessage {
	t := toolJSON{
		Name: f.nameOf(&d), Title: d.Title, Description: d.Description,
		InputSchema: inputSchema(d), Annotations: annotations(&d), Icons: d.Icons, Meta: mcpjson.Unreserved(d.Meta),
	}
	if f&anyOutput != 0 || isObjectSchema(d.OutputSchema) {
		t.OutputSchema = d.OutputSchema
	}
	b, err := json.Marshal(t)
	if err != nil { // the registry has checked what JSON depends on
		return nil
	}
	return b
}

func (f form) nameOf(d *tool.Definition) string {
	if f&canonicalName != 0 || d.Alias == "" {
		return d.Name
	}
	return d.Alias
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

// visible returns the tools that the client may call, sorted by the names that it knows.
func (c *clientSession) visible(f form) []tool.Definition {
	session := c.now()
	tools := session.Tools(host.Filter{})
	out := make([]tool.Definition, 0, len(tools))
	for _, t := range tools {
		if may(session, &t.Definition) {
			out = append(out, t.Definition)
		}
	}
	slices.SortFunc(out, func(a, b tool.Definition) int { return strings.Compare(f.nameOf(&a), f.nameOf(&b)) })
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
	tools, next, err := pageAt(c, "tools", r.Params.Cursor, c.visible(f), f.nameOf)
	if err != nil {
		return nil, err
	}
	page := &toolPage{Tools: make([]json.RawMessage, len(tools)), NextCursor: next, Cacheable: listCache}
	if latest {
		page.ResultType = resultComplete
	}
	if c.server.starting() {
		page.Meta, page.TTLMs = mcp.Meta{mcpjson.Starting: true}, 0
	}
	for i, d := range tools {
		page.Tools[i] = c.server.list.of(d, f)
	}
	return page, nil
}

// pageAt returns the part of a list, which is sorted by keys, that a cursor is for, and the cursor
// of the next.
func pageAt[T any](c *clientSession, kind, at string, all []T, key func(*T) string) (page []T, next string, err error) {
	if at != "" {
		after, ok := openCursor(kind, at)
		if !ok {
			return nil, "", invalid("unknown cursor; list again from the beginning")
		}
		from := 0
		for from < len(all) && key(&all[from]) <= after {
			from++
		}
		all = all[from:]
	}
	if size := c.server.opts.PageSize; len(all) > size {
		return all[:size], cursor(kind, key(&all[size-1])), nil
	}
	return all, "", nil
}

// cursor continues a list behind an item.
func cursor(kind, key string) string {
	return base64.RawURLEncoding.EncodeToString([]byte(kind + ":" + key))
}

// openCursor returns the item behind which a cursor continues a list of that kind.
func openCursor(kind, text string) (string, bool) {
	b, err := base64.RawURLEncoding.DecodeString(text)
	if err != nil {
		return "", false
	}
	key, ok := strings.CutPrefix(string(b), kind+":")
	return key, ok && key != ""
}

var listSeed = maphash.MakeSeed()

// digest identifies the list that the client sees.
func (c *clientSession) digest() uint64 {
	f := c.form(true)
	var h maphash.Hash
	h.SetSeed(listSeed)
	for _, d := range c.visible(f) {
		_, _ = h.Write(c.server.list.of(d, f))
	}
	return h.Sum64()
}
