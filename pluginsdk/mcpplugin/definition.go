package mcpplugin

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxPages bounds a list whose cursors lead in a circle.
const maxPages = 10000

// update makes the set serve what the server lists. What cannot be served is left out.
func (b *bridge) update(ctx context.Context) error {
	b.updating.Lock()
	defer b.updating.Unlock()
	listed, err := b.list(ctx)
	if err != nil {
		return err
	}
	names := map[string]string{}
	var tools []tool.Tool
	var faults []error
	for _, t := range listed {
		d, err := b.definition(t)
		if err == nil && names[d.Name] != "" {
			err = fmt.Errorf("the tools %q and %q both have the name %s here", names[d.Name], t.Name, d.Name)
		}
		if err == nil {
			err = d.Check()
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		names[d.Name] = t.Name
		tools = append(tools, tool.Tool{Definition: d, Handler: b.call})
	}
	b.mu.Lock()
	before := b.names
	b.names = names
	b.mu.Unlock()
	gone := slices.DeleteFunc(slices.Collect(maps.Keys(before)), func(name string) bool { return names[name] != "" })
	if len(gone) > 0 {
		b.set.Remove(gone...)
	}
	return errors.Join(append(faults, b.set.Put(tools...))...)
}

// nameOf returns the server's name of a tool.
func (b *bridge) nameOf(name string) string {
	b.mu.Lock()
	defer b.mu.Unlock()
	return cmp.Or(b.names[name], name)
}

// list returns the tools of the server, as it has them.
func (b *bridge) list(ctx context.Context) (all []*mcp.Tool, err error) {
	c, err := b.session(ctx, "")
	if err != nil {
		return nil, err
	}
	defer b.leave(c)
	if c.session.InitializeResult().Capabilities.Tools == nil {
		return nil, nil
	}
	cursor := ""
	for range maxPages {
		r := b.begin(ctx)
		_, err := c.session.ListTools(ctx, &mcp.ListToolsParams{Meta: r.meta(), Cursor: cursor})
		b.end(r)
		if err != nil {
			return nil, err
		}
		got := <-r.ended
		page, ok := got.result.(*mcp.ListToolsResult)
		if !ok {
			return nil, fmt.Errorf("the MCP server lists its tools as %T", got.result)
		}
		all = append(all, page.Tools...)
		if cursor = page.NextCursor; cursor == "" {
			return all, nil
		}
	}
	return nil, errors.New("the list of tools of the MCP server has no end")
}

// definition converts a tool of the server.
func (b *bridge) definition(t *mcp.Tool) (tool.Definition, error) {
	raw, err := json.Marshal(t)
	if err != nil {
		return tool.Definition{}, fmt.Errorf("tool %q cannot be written as JSON: %w", t.Name, err)
	}
	var members struct {
		InputSchema  json.RawMessage `json:"inputSchema"`
		OutputSchema json.RawMessage `json:"outputSchema"`
		Icons        json.RawMessage `json:"icons"`
		Meta         json.RawMessage `json:"_meta"`
	}
	if err := json.Unmarshal(raw, &members); err != nil {
		return tool.Definition{}, err
	}
	d := tool.Definition{
		Name: mcpjson.Name(t.Name), Title: t.Title, Description: strings.ReplaceAll(t.Description, "\r\n", "\n"),
		InputSchema: mcpjson.Present(members.InputSchema), OutputSchema: mcpjson.Present(members.OutputSchema),
		Icons: mcpjson.Present(members.Icons), Meta: mcpjson.Unreserved(members.Meta),
		Safety: mcpjson.Safety(t.Annotations),
	}
	if a := t.Annotations; a != nil {
		d.Title = cmp.Or(d.Title, a.Title)
		d.Idempotent = a.IdempotentHint || a.ReadOnlyHint
	}
	name := d.Name
	for _, f := range b.complete {
		f(&d)
	}
	if d.Name != name {
		return d, tool.Errorf(tool.CodeInvalidDefinition,
			"tool %s was renamed to %s while its definition was completed", name, d.Name).
			Of(name, "").At(callstage.Register).Try("rename it in the MCP server")
	}
	return d, nil
}
