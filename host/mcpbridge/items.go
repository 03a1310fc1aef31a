package mcpbridge

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
)

// pages follows the pages of a list within the bounds. What exceeds them is left out, and
// reported.
func pages[T any](l *link, what string, page func(cursor string) ([]T, string, error)) ([]T, error) {
	var out []T
	cursors := map[string]bool{}
	cursor := ""
	for n := 1; ; n++ {
		items, next, err := page(cursor)
		if err != nil && n == 1 {
			return nil, err
		}
		out = append(out, items...)
		switch {
		case err != nil:
		case next == "":
			return out, nil
		case cursors[next]:
			err = fmt.Errorf("the cursor of page %d was one of an earlier page", n+1)
		case n == maxPages || len(out) > maxTools:
			err = errors.New("it has no end")
		}
		if err != nil {
			l.fault(fmt.Errorf("the list of its %s ends at page %d: %w", what, n, err))
			return out[:min(len(out), maxTools)], nil
		}
		cursors[next], cursor = true, next
	}
}

// item is something that a server lists besides tools, as the server sent it, and its key, by
// which clients ask for it.
type item struct {
	key string
	raw json.RawMessage
}

// kind is a kind of such things.
type kind struct {
	what   string // in messages
	member string // of a page, that has the items
	key    string // the member of an item that is its key
	has    capability
	ask    func(context.Context, *mcp.ClientSession, string) error // for the page of a cursor
}

var (
	promptKind = kind{
		"prompts", "prompts", "name", hasPrompts, func(ctx context.Context, s *mcp.ClientSession, cursor string) error {
			_, err := s.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor, Meta: traceMeta(ctx)})
			return err
		},
	}
	resourceKind = kind{
		"resources", "resources", "uri", hasResources, func(ctx context.Context, s *mcp.ClientSession, cursor string) error {
			_, err := s.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor, Meta: traceMeta(ctx)})
			return err
		},
	}
	templateKind = kind{
		"resource templates", "resourceTemplates", "uriTemplate", hasResources,
		func(ctx context.Context, s *mcp.ClientSession, cursor string) error {
			_, err := s.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor, Meta: traceMeta(ctx)})
			return err
		},
	}
)

// items lists what the server has of a kind; none if it has none. The SDK has checked each page.
func (u *Upstream) items(ctx context.Context, k kind) ([]item, error) {
	l, err := u.with(ctx, k.has)
	if l == nil {
		return nil, err
	}
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	size := 0
	return pages(l, k.what, func(cursor string) ([]item, string, error) {
		call, ctx := observed(ctx)
		defer call.finish()
		if err := k.ask(ctx, l.session, cursor); err != nil {
			return nil, "", l.passed(ctx, err)
		}
		raw := call.take()
		if size += len(raw); size > u.most {
			return nil, "", fmt.Errorf("it has more than %d bytes", u.most)
		}
		return k.page(raw)
	})
}

// page returns the items of a page, and the cursor of the next.
func (k kind) page(raw json.RawMessage) (items []item, next string, err error) {
	var page map[string]json.RawMessage
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", err
	}
	if one := mcpjson.Present(page[k.member]); one != nil {
		if err := json.Unmarshal(one, &all); err != nil {
			return nil, "", err
		}
	}
	for _, one := range all {
		var members map[string]json.RawMessage
		if json.Unmarshal(one, &members) == nil && members != nil {
			items = append(items, item{text(members[k.key]), scrubbed(one)})
		}
	}
	_ = json.Unmarshal(page["nextCursor"], &next)
	return items, next, nil
}

func itemsAs[T any](items []item, err error) ([]*T, error) {
	var out []*T
	for _, i := range items {
		var one T
		if err := json.Unmarshal(i.raw, &one); err == nil {
			out = append(out, &one)
		}
	}
	return out, err
}

// Prompts lists the server's prompts; none if it has none.
//
// # Errors
//
// The server's own, a *jsonrpc.Error of the SDK; [tool.CodeUnavailable] if it cannot be reached or
// started; the context's end.
func (u *Upstream) Prompts(ctx context.Context) ([]*mcp.Prompt, error) {
	return itemsAs[mcp.Prompt](u.items(ctx, promptKind))
}

// Resources lists the server's resources; none if it has none.
//
// # Errors
//
// Those of [Upstream.Prompts].
func (u *Upstream) Resources(ctx context.Context) ([]*mcp.Resource, error) {
	return itemsAs[mcp.Resource](u.items(ctx, resourceKind))
}

// Templates lists the server's templates of resources; none if it has none.
//
// # Errors
//
// Those of [Upstream.Prompts].
func (u *Upstream) Templates(ctx context.Context) ([]*mcp.ResourceTemplate, error) {
	return itemsAs[mcp.ResourceTemplate](u.items(ctx, templateKind))
}
