package mcpclient

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// listing is a server's tools, in its order.
type listing struct {
	tools  []tool.Definition
	theirs map[string]string // the server's names, by those here
	digest string            // of what the server sent
}

func (s *listing) definitions() []tool.Definition {
	out := make([]tool.Definition, len(s.tools))
	for i, d := range s.tools {
		out[i] = d.Clone()
	}
	return out
}

// listFirst lists the tools of a new connection.
func (l *link) listFirst(ctx context.Context) error {
	listed, err := l.list(ctx)
	if err == nil {
		l.listed.Store(listed)
	}
	return err
}

// listAgain lists the tools when the server says that they changed.
func (l *link) listAgain() {
	select {
	case <-l.ready:
	case <-l.life.Done():
		return
	}
	ctx, stop := context.WithTimeout(l.life, requestTime)
	defer stop()
	listed, err := l.list(ctx)
	if err != nil {
		if l.life.Err() == nil {
			l.fault(fmt.Errorf("its tools cannot be listed again: %w", err))
		}
		return
	}
	if before := l.listed.Swap(listed); before != nil && before.digest == listed.digest {
		return
	}
	if l.to.Changed != nil {
		l.to.Changed()
	}
}

// list lists all pages. What is wrong with one tool or page costs that, and is reported; so is
// what exceeds a bound.
func (l *link) list(ctx context.Context) (*listing, error) {
	b := newListingBuilder(l)
	if about := l.session.InitializeResult(); about == nil || about.Capabilities == nil || about.Capabilities.Tools == nil {
		return b.done(), nil
	}
	err := l.pages(ctx, "tools", func(cursor string) (json.RawMessage, error) { return l.toolsPage(ctx, cursor) },
		func(page json.RawMessage) (string, error) {
			var list struct {
				Tools      []json.RawMessage `json:"tools"`
				NextCursor string            `json:"nextCursor"`
			}
			if err := json.Unmarshal(page, &list); err != nil {
				return "", err
			}
			return list.NextCursor, b.add(list.Tools)
		})
	if err != nil {
		return nil, err
	}
	return b.done(), nil
}

// toolsPage returns a page as the server sent it: what the SDK could not decode is looked at tool by tool.
func (l *link) toolsPage(ctx context.Context, cursor string) (json.RawMessage, error) {
	call, ctx := observed(ctx)
	defer call.finish()
	_, err := l.session.ListTools(ctx, &mcp.ListToolsParams{Cursor: cursor, Meta: traceMeta(ctx)})
	switch raw := call.take(); {
	case raw != nil:
		return raw, nil
	case err == nil:
		return nil, errors.New("the list did not arrive")
	}
	return nil, err
}

// chosen reports whether the operator wants a tool, by the server's name for it.
func (u *Upstream) chosen(name string) bool {
	matches := func(pattern string) bool { return match(pattern, name) }
	return (len(u.config.Include) == 0 || slices.ContainsFunc(u.config.Include, matches)) &&
		!slices.ContainsFunc(u.config.Exclude, matches)
}

// match is [path.Match] of a name, which is not a path: * matches what / separates, too.
func match(pattern, name string) bool {
	flat := func(s string) string { return strings.ReplaceAll(s, "/", "\x00") }
	ok, _ := path.Match(flat(pattern), flat(name))
	return ok
}

// unmatched are patterns that match none of the names that a server lists.
type unmatched struct{ patterns, names []string }

// Unmatched returns the patterns of [Config.Include] and [Config.Exclude] that match no tool that the server listed last,
// and the names on that list: a typing error there excludes nothing.
func (u *Upstream) Unmatched() (patterns, names []string) {
	if found := u.unmatched.Load(); found != nil {
		return found.patterns, found.names
	}
	return nil, nil
}

// compare finds the patterns that match none of the names.
func (u *Upstream) compare(names []string) {
	var found *unmatched
	for _, p := range slices.Concat(u.config.Include, u.config.Exclude) {
		if len(names) > 0 && !slices.ContainsFunc(names, func(name string) bool { return match(p, name) }) {
			if found == nil {
				found = &unmatched{names: names}
			}
			found.patterns = append(found.patterns, p)
		}
	}
	u.unmatched.Store(found)
}
