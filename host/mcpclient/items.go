package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
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

// kind is a kind of what a server lists besides tools.
type kind struct {
	what string // in messages
	key  string // the member of an item that is its key
	has  capability
	ask  func(context.Context, *mcp.ClientSession, string) error // for the page of a cursor
}

var kinds = map[mcpwire.Kind]kind{
	mcpwire.Prompts: {
		"prompts", "name", hasPrompts, func(ctx context.Context, s *mcp.ClientSession, cursor string) error {
			_, err := s.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor, Meta: traceMeta(ctx)})
			return err
		},
	},
	mcpwire.Resources: {
		"resources", "uri", hasResources, func(ctx context.Context, s *mcp.ClientSession, cursor string) error {
			_, err := s.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor, Meta: traceMeta(ctx)})
			return err
		},
	},
	mcpwire.Templates: {
		"resource templates", "uriTemplate", hasResources,
		func(ctx context.Context, s *mcp.ClientSession, cursor string) error {
			_, err := s.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor, Meta: traceMeta(ctx)})
			return err
		},
	},
}

// listOthers lists what is not known to be as it was of what a server has besides tools. What does not
// come in time is asked for again when a client wants it.
func (l *link) listOthers(ctx context.Context, which ...mcpwire.Kind) {
	ctx, stop := context.WithTimeout(ctx, othersTime)
	defer stop()
	about := l.session.InitializeResult()
	var all sync.WaitGroup
	for _, of := range which {
		all.Go(func() {
			_, err := l.u.kept[of].of(func() ([]mcpwire.Item, error) {
				if about == nil || about.Capabilities == nil || !kinds[of].has(about.Capabilities) {
					return nil, nil
				}
				return l.items(ctx, of)
			})
			if err != nil && l.life.Err() == nil {
				l.fault(fmt.Errorf("its %s cannot be listed: %w", kinds[of].what, err))
			}
		})
	}
	all.Wait()
	l.tellOffers()
}

// offerAgain lists again what definitions pin, when the server says that it changed.
func (l *link) offerAgain() {
	select {
	case <-l.ready:
		l.listOthers(l.life, mcpwire.Prompts, mcpwire.Templates)
	case <-l.life.Done():
	}
}

// tellOffers reports what the server has besides tools, and that its definitions are others if that
// is so.
func (l *link) tellOffers() {
	now := string(l.u.pinned(mcpwire.Prompts)) + string(l.u.pinned(mcpwire.Templates))
	if before := l.pinned.Swap(&now); before != nil && *before != now && l.to.Changed != nil {
		l.to.Changed()
	}
	if l.to.Offers == nil {
		return
	}
	var out []string
	for of := range kinds {
		for _, item := range l.u.kept[of].last(maxOffers) {
			if len(item.Key) <= maxOffer {
				out = append(out, of.One()+" "+item.Key)
			}
		}
	}
	slices.Sort(out)
	l.to.Offers(slices.Compact(out))
}

// List implements [mcpwire.Source].
func (u source) List(ctx context.Context, of mcpwire.Kind) ([]mcpwire.Item, error) {
	var l *link // if it was asked
	out, err := u.kept[of].of(func() (_ []mcpwire.Item, err error) {
		if l, err = u.with(ctx, kinds[of].has); l == nil {
			return nil, err
		}
		return l.items(ctx, of)
	})
	if l != nil && err == nil {
		l.tellOffers()
	}
	return out, err
}

// items asks for what the server lists of a kind. The SDK has checked each page.
func (l *link) items(ctx context.Context, of mcpwire.Kind) ([]mcpwire.Item, error) {
	k := kinds[of]
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	size := 0
	out, err := pages(l, k.what, func(cursor string) ([]mcpwire.Item, string, error) {
		call, ctx := observed(ctx)
		defer call.finish()
		if err := k.ask(ctx, l.session, cursor); err != nil {
			return nil, "", l.passed(ctx, err)
		}
		raw := call.take()
		if size += len(raw); size > l.u.most {
			return nil, "", fmt.Errorf("it has more than %d bytes", l.u.most)
		}
		items, next, err := itemsOf(raw, string(of), k.key)
		return slices.DeleteFunc(items, func(i mcpwire.Item) bool { return l.hides(of, i) }), next, err
	})
	if theirs := theirError(err); theirs != nil && theirs.Code == jsonrpc.CodeMethodNotFound {
		return nil, nil // as many servers answer that have resources and no templates
	}
	return out, err
}

// hides reports whether what a server lists has hidden text, which is a fault.
func (l *link) hides(of mcpwire.Kind, i mcpwire.Item) bool {
	r, found := mcpjson.Hidden(i.Raw)
	if found {
		l.fault(fmt.Errorf("its %s %.128q is left out, as it has a hidden character, %U", of.One(), i.Key, r))
	}
	return found
}

// itemsOf returns the items of a page, and the cursor of the next.
func itemsOf(raw json.RawMessage, member, key string) (items []mcpwire.Item, next string, err error) {
	var page map[string]json.RawMessage
	var all []json.RawMessage
	if err := json.Unmarshal(raw, &page); err != nil {
		return nil, "", err
	}
	if one := mcpjson.Present(page[member]); one != nil {
		if err := json.Unmarshal(one, &all); err != nil {
			return nil, "", err
		}
	}
	for _, one := range all {
		var members map[string]json.RawMessage
		if json.Unmarshal(one, &members) == nil && members != nil {
			items = append(items, mcpwire.Item{Key: text(members[key]), Raw: mcpjson.Scrubbed(one)})
		}
	}
	_ = json.Unmarshal(page["nextCursor"], &next)
	return items, next, nil
}
