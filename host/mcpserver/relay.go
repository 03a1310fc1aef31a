package mcpserver

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"slices"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What mounted servers have besides tools passes through to clients, under the names that the
// servers give it. Of two servers with the same prompt or resource the first counts, by the
// servers' names. What a client asks of it is a call of one of the host's own tools, so that a
// client is shown what it may call for.

// relay is a mounted server as clients are shown it.
type relay struct {
	mcpwire.Source
	name string
	stop func() // ends its notices
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
				PromptsChanged: s.announcePrompts, ResourcesChanged: s.announceResources, ResourceUpdated: s.resourceUpdated,
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

// reach is a mounted server as one client reaches it.
type reach struct {
	*relay

	tools map[mcpwire.Own]string // those that the client may call, by their names here
}

// reaches returns the mounted servers, and by which of the host's own tools the client may reach each.
// Of a server whose tools are not known yet, they are judged as they will be.
func (c *clientSession) reaches() []reach {
	all := c.server.relays()
	if len(all) == 0 {
		return nil
	}
	session := c.now()
	known, tools := map[string]bool{}, map[string]map[mcpwire.Own]string{}
	for _, t := range c.server.host.Tools(host.Filter{}) {
		known[t.Owner] = true
		if t.Own && may(session, &t.Definition) {
			if tools[t.Owner] == nil {
				tools[t.Owner] = map[mcpwire.Own]string{}
			}
			tools[t.Owner][mcpwire.Own(strings.TrimPrefix(t.Claimed.Name, t.Owner+"."))] = t.Name
		}
	}
	out := make([]reach, len(all))
	for i, r := range all {
		out[i] = reach{r, tools[r.name]}
		if known[r.name] {
			continue
		}
		out[i].tools = map[mcpwire.Own]string{}
		for _, own := range mcpwire.Owns {
			if d := (tool.Definition{Name: own.Of(r.name), Safety: own.Safety()}); may(session, &d) {
				out[i].tools[own] = d.Name
			}
		}
	}
	return out
}

// by returns those of the servers that the client may reach by a tool, or those that it may not.
func by(all []reach, own mcpwire.Own, may bool) (out []reach) {
	for _, r := range all {
		if (r.tools[own] != "") == may {
			out = append(out, r)
		}
	}
	return out
}

// offered is something that a mounted server has, and the server.
type offered struct {
	mcpwire.Item

	from reach
}

// gather lists what servers have of a kind, sorted. A server that fails costs only its own.
func (c *clientSession) gather(ctx context.Context, of mcpwire.Kind, all []reach) []offered {
	lists := make([][]mcpwire.Item, len(all))
	var wg sync.WaitGroup
	for i, r := range all {
		wg.Go(func() {
			items, err := r.List(ctx, of)
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

// listed lists what the servers have that the client may reach by a tool.
func (c *clientSession) listed(ctx context.Context, of mcpwire.Kind, own mcpwire.Own) []offered {
	return c.gather(ctx, of, by(c.reaches(), own, true))
}

// find returns the server that has something.
func find(all []offered, key string) (from reach, ok bool) {
	i, ok := slices.BinarySearchFunc(all, key, func(o offered, key string) int { return strings.Compare(o.Key, key) })
	if !ok {
		return reach{}, false
	}
	return all[i].from, true
}

// ofPrompt returns the server that has a prompt. If none has it that the client may reach by a tool, it is
// one that the client may not, so that the call is on record, and refused.
func (c *clientSession) ofPrompt(ctx context.Context, own mcpwire.Own, name string) []reach {
	all := c.reaches()
	if from, ok := find(c.gather(ctx, mcpwire.Prompts, by(all, own, true)), name); ok {
		return []reach{from}
	}
	return firstOf(by(all, own, false))
}

// ofURI returns the servers that may have a resource, or a template: the one that lists it, or that named it to
// the client, or those with a template that begins as it does. If there is none, it is as with ofPrompt.
func (c *clientSession) ofURI(ctx context.Context, own mcpwire.Own, uri string) []reach {
	all := c.reaches()
	within := by(all, own, true)
	if from, ok := find(c.gather(ctx, mcpwire.Resources, within), uri); ok {
		return []reach{from}
	}
	var out []reach
	add := func(r reach) {
		if !slices.ContainsFunc(out, func(o reach) bool { return o.relay == r.relay }) {
			out = append(out, r)
		}
	}
	for _, r := range within {
		if r.Named(c.session.ID(), uri) {
			add(r)
		}
	}
	for _, t := range c.gather(ctx, mcpwire.Templates, within) {
		literal, _, _ := strings.Cut(t.Key, "{")
		if strings.HasPrefix(uri, literal) {
			add(t.from)
		}
	}
	if len(out) == 0 {
		return firstOf(by(all, own, false))
	}
	return out
}

func firstOf(all []reach) []reach { return all[:min(len(all), 1)] }

// call runs a call of one of the host's own tools. Its result is that of the server, as the server sent it.
func (c *clientSession) call(ctx context.Context, to reach, own mcpwire.Own, args any) (json.RawMessage, error) {
	name := cmp.Or(to.tools[own], own.Of(to.name))
	if owner, there := c.server.host.OwnerOf(name); there && owner != to.name { // which took the name
		return nil, errNotReached
	}
	arguments, err := json.Marshal(args)
	if err != nil {
		return nil, err
	}
	// A limit of characters is for what models read.
	session := c.now().With(host.WithResultLimit(0))
	res, err := session.Execute(ctx, tool.Call{Name: name, Arguments: arguments})
	if e := tool.AsError(err); err != nil && e.Code == tool.CodeNotFound && e.Stage == tool.StageResolve {
		return nil, errNotReached
	}
	return res.Structured, err
}

// errNotReached says that the client reaches no such server.
var errNotReached = errors.New("the client does not reach it")
