package mcpclient

import (
	"cmp"
	"context"
	"encoding/json"
	"fmt"
	"slices"
	"sync"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/mcpjson"
)

// pages adds the pages of a list, within the bounds. What exceeds them is left out and reported, as is what is wrong
// after the first page.
func (l *link) pages(
	ctx context.Context, what string, ask func(cursor string) (json.RawMessage, error),
	add func(page json.RawMessage) (next string, err error),
) error {
	cursors := map[string]bool{}
	cursor, size := "", 0
	for n := 1; ; n++ {
		page, err := ask(cursor)
		if err != nil && n == 1 || ctx.Err() != nil {
			return cmp.Or(err, ctx.Err())
		}
		if size += len(page); err == nil && size > l.u.most {
			err = fmt.Errorf("it has more than %d bytes", l.u.most)
		}
		if err == nil {
			cursor, err = add(page)
		}
		switch {
		case err != nil:
		case cursor == "":
			return nil
		case cursors[cursor]:
			err = fmt.Errorf("the cursor of page %d was one of an earlier page", n+1)
		case n == maxPages:
			err = fmt.Errorf("it has more than %d pages", maxPages)
		}
		if err != nil {
			l.fault(fmt.Errorf("the list of its %s ends at page %d: %w", what, n, err))
			return nil
		}
		cursors[cursor] = true
	}
}

// kind is a kind of what a server lists besides tools.
type kind struct {
	what string // in messages
	key  string // the member of an item that is its key
	has  capability
}

var kinds = map[mcpwire.Kind]kind{
	mcpwire.Prompts:   {"prompts", "name", hasPrompts},
	mcpwire.Resources: {"resources", "uri", hasResources},
	mcpwire.Templates: {"resource templates", "uriTemplate", hasResources},
}

// ask asks for the page of a cursor.
func (l *link) ask(ctx context.Context, of mcpwire.Kind, cursor string) (err error) {
	switch meta := traceMeta(ctx); of {
	case mcpwire.Prompts:
		_, err = l.session.ListPrompts(ctx, &mcp.ListPromptsParams{Cursor: cursor, Meta: meta})
	case mcpwire.Resources:
		_, err = l.session.ListResources(ctx, &mcp.ListResourcesParams{Cursor: cursor, Meta: meta})
	case mcpwire.Templates:
		_, err = l.session.ListResourceTemplates(ctx, &mcp.ListResourceTemplatesParams{Cursor: cursor, Meta: meta})
	}
	return err
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
		which := []mcpwire.Kind{mcpwire.Prompts, mcpwire.Templates}
		if len(l.toolPages()) > 0 {
			which = append(which, mcpwire.Resources)
		}
		l.listOthers(l.life, which...)
	case <-l.life.Done():
	}
}

// tellOffers reports what the server has besides tools, and that its definitions are others if that
// is so.
func (l *link) tellOffers() {
	now := ""
	for _, own := range mcpwire.Owns {
		now += string(l.pins(ownTools[own].lists))
	}
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
func (l *link) items(ctx context.Context, of mcpwire.Kind) (out []mcpwire.Item, err error) {
	k := kinds[of]
	ctx, stop := context.WithTimeout(ctx, requestTime)
	defer stop()
	err = l.pages(ctx, k.what, func(cursor string) (json.RawMessage, error) {
		call, ctx := observed(ctx)
		defer call.finish()
		err := l.ask(ctx, of, cursor)
		return call.take(), err
	}, func(page json.RawMessage) (string, error) {
		items, next, err := itemsOf(page, string(of), k.key)
		out = append(out, slices.DeleteFunc(items, func(i mcpwire.Item) bool { return l.hides(of, i) })...)
		if len(out) > maxTools {
			out, err = out[:maxTools], fmt.Errorf("it has more than %d", maxTools)
		}
		return next, err
	})
	if theirs := theirError(err); theirs != nil && theirs.Code == jsonrpc.CodeMethodNotFound {
		return nil, nil // as many servers answer that have resources and no templates
	}
	return out, l.passed(ctx, err)
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
