package mcpserver

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What mounted servers have besides tools passes through to clients, under the names that the
// servers give it. Of two servers with the same prompt or resource the first counts, by the
// servers' names.

// maxListAge is how long a list of a server is believed that does not say when it changes.
const maxListAge = 5 * time.Minute

// relay is a mounted server as clients are shown it.
type relay struct {
	mcpwire.Source
	name string
	stop func() // ends its notices

	prompts, resources, templates keptItems
}

// keptItems is a list of a server, until it changes.
type keptItems struct {
	mu      sync.Mutex
	items   []mcpwire.Item
	fresh   bool
	at      time.Time
	version int // counts changes
}

func (k *keptItems) forget() {
	k.mu.Lock()
	defer k.mu.Unlock()
	k.fresh = false
	k.version++
}

// of returns the server's list of a kind.
func (k *keptItems) of(ctx context.Context, from mcpwire.Source, of mcpwire.Kind) ([]mcpwire.Item, error) {
	k.mu.Lock()
	if k.fresh && time.Since(k.at) < maxListAge {
		defer k.mu.Unlock()
		return k.items, nil
	}
	version := k.version
	k.mu.Unlock()
	items, err := from.List(ctx, of)
	if err != nil {
		return nil, err
	}
	k.mu.Lock()
	defer k.mu.Unlock()
	if k.version == version {
		k.items, k.fresh, k.at = items, true, time.Now()
	}
	return items, nil
}

// relays returns the mounted servers of this moment, sorted by name.
func (s *Server) relays() []*relay {
	if s.opts.Upstreams == nil {
		return nil
	}
	now := slices.Clone(s.opts.Upstreams())
	slices.SortFunc(now, func(a, b Upstream) int { return strings.Compare(a.Name(), b.Name()) })
	s.relayed.mu.Lock()
	defer s.relayed.mu.Unlock()
	out := make([]*relay, 0, len(now))
	changed := false
	for _, u := range now {
		r := s.relayed.all[u]
		if r == nil {
			r = &relay{Source: mcpwire.SourceOf(u), name: u.Name()}
			r.stop = r.Notify(mcpwire.Notices{
				PromptsChanged:   func() { r.prompts.forget(); s.announcePrompts() },
				ResourcesChanged: func() { r.resources.forget(); r.templates.forget(); s.announceResources() },
				ResourceUpdated:  s.resourceUpdated,
			})
			s.relayed.all[u] = r
			changed = true
		}
		out = append(out, r)
	}
	for u, r := range s.relayed.all {
		if !slices.Contains(now, u) {
			r.stop()
			delete(s.relayed.all, u)
			changed = true
		}
	}
	if changed && s.relayed.known {
		go func() { s.announcePrompts(); s.announceResources() }()
	}
	s.relayed.known = true
	return out
}

// relayedServers are the mounted servers that were there last.
type relayedServers struct {
	mu    sync.Mutex
	all   map[Upstream]*relay
	known bool
}

// relays returns the mounted servers that the client sees: those of whose tools it may call one. A
// server without tools is seen by those who would see a tool of the server's name.
func (c *clientSession) relays() []*relay {
	all := c.server.relays()
	if len(all) == 0 {
		return nil
	}
	session := c.now()
	sees := map[string]bool{}
	for _, t := range c.server.host.Tools(host.Filter{}) {
		sees[t.Owner] = sees[t.Owner] || may(session, &t.Definition)
	}
	return slices.DeleteFunc(all, func(r *relay) bool {
		seen, hasTools := sees[r.name]
		return hasTools && !seen || !hasTools && !session.Sees(&tool.Definition{Name: r.name})
	})
}

// offered is something that a mounted server has, and the server.
type offered struct {
	mcpwire.Item

	from *relay
}

// gather lists what the servers have of a kind, sorted. A server that fails costs only its own.
func (c *clientSession) gather(ctx context.Context, of mcpwire.Kind, kept func(*relay) *keptItems) []offered {
	all := c.relays()
	lists := make([][]mcpwire.Item, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			items, err := kept(r).of(ctx, r, of)
			if err != nil {
				c.server.opts.Logger.Log(ctx, slog.LevelWarn, "a mounted server does not list its "+string(of),
					"server", r.name, "error", err)
			}
			lists[i] = items
		})
	}
	wg.Wait()
	taken := map[string]bool{}
	var out []offered
	for i, items := range lists {
		for _, one := range items {
			if !taken[one.Key] {
				taken[one.Key] = true
				out = append(out, offered{one, all[i]})
			}
		}
	}
	slices.SortFunc(out, func(a, b offered) int { return strings.Compare(a.Key, b.Key) })
	return out
}

func (c *clientSession) prompts(ctx context.Context) []offered {
	return c.gather(ctx, mcpwire.Prompts, func(r *relay) *keptItems { return &r.prompts })
}

func (c *clientSession) resources(ctx context.Context) []offered {
	return c.gather(ctx, mcpwire.Resources, func(r *relay) *keptItems { return &r.resources })
}

func (c *clientSession) templates(ctx context.Context) []offered {
	return c.gather(ctx, mcpwire.Templates, func(r *relay) *keptItems { return &r.templates })
}

// find returns the server that has something.
func find(all []offered, key string) *relay {
	i, ok := slices.BinarySearchFunc(all, key, func(o offered, key string) int { return strings.Compare(o.Key, key) })
	if !ok {
		return nil
	}
	return all[i].from
}

// ofURI returns the servers that may have a resource: the one that lists it, or those with a
// template that begins as it does.
func (c *clientSession) ofURI(ctx context.Context, uri string) []*relay {
	if r := find(c.resources(ctx), uri); r != nil {
		return []*relay{r}
	}
	var out []*relay
	for _, t := range c.templates(ctx) {
		literal, _, _ := strings.Cut(t.Key, "{")
		if strings.HasPrefix(uri, literal) && !slices.Contains(out, t.from) {
			out = append(out, t.from)
		}
	}
	return out
}
