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
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What mounted servers have besides tools passes through to clients, under the names that the
// servers give it. Of two servers with the same prompt or resource it stays with who had it first; the
// prompt of the other is SERVER.NAME. What a client asks of it is a call of one of the host's own tools, so that a
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
	roots := s.onlyRoots()
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
			if roots != nil {
				r.OfferRoots(roots)
			}
			s.tasks.Go(func() { s.tellLevel(s.ended, r) }) // clients may have said it before the server was there
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

// ownTools counts the host's own tools, as far as mounted servers are passed on.
func (s *Server) ownTools() (n int) {
	if s.opts.Upstreams == nil {
		return 0
	}
	for _, t := range s.list.tools() {
		if t.Own {
			n++
		}
	}
	return n
}

// relayedServers are the mounted servers that were there last.
type relayedServers struct {
	mu    sync.Mutex
	all   map[Upstream]*relay
	known bool
}

// reachable is a mounted server as one client reaches it.
type reachable struct {
	*relay

	tools map[mcpwire.Own]string // those that the client may call, by their names here
	since time.Time              // when it first had something
	lost  map[string]string      // what it lists and another has, as in [plugin.Events], and the other
}

// reachable returns the mounted servers, those first that have had something for longest, and by which of
// the host's own tools the client may reach each.
// Of a server whose tools are not known yet, they are judged as they will be.
func (c *clientSession) reachable() []reachable {
	all := c.server.relays()
	if len(all) == 0 {
		return nil
	}
	session := c.now()
	known, tools := map[string]bool{}, map[string]map[mcpwire.Own]string{}
	for _, t := range c.server.list.tools() {
		known[t.Owner] = true
		if t.Own && t.isFor(session) {
			if tools[t.Owner] == nil {
				tools[t.Owner] = map[mcpwire.Own]string{}
			}
			tools[t.Owner][mcpwire.Own(strings.TrimPrefix(t.Claimed, t.Owner+"."))] = t.Def.Name
		}
	}
	status := map[string]plugin.Status{}
	for _, p := range c.server.host.Plugins() {
		status[p.Name] = p
	}
	out := make([]reachable, len(all))
	for i, r := range all {
		out[i] = reachable{relay: r, tools: tools[r.name], lost: map[string]string{}}
		if has := status[r.name].Offers; has != nil {
			out[i].since = has.Since
		}
		for _, l := range status[r.name].Lost {
			out[i].lost[l.Kind+" "+l.Tool] = l.To
		}
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
	slices.SortStableFunc(out, func(a, b reachable) int { return a.since.Compare(b.since) })
	return out
}

// by returns those of the servers that the client may reach by a tool, or those that it may not.
func by(all []reachable, own mcpwire.Own, may bool) (out []reachable) {
	for _, r := range all {
		if (r.tools[own] != "") == may {
			out = append(out, r)
		}
	}
	return out
}

// offered is something that a mounted server has, and the server.
type offered struct {
	mcpwire.Item // as clients are shown it

	from   reachable
	theirs string // the server's key for it
}

// gather lists what servers have of a kind, sorted. A server that fails costs only its own.
func (c *clientSession) gather(ctx context.Context, of mcpwire.Kind, all []reachable) []offered {
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
	there, taken := map[string]bool{}, map[string]bool{}
	for _, r := range all {
		there[r.name] = true
	}
	var out, second []offered
	for i, items := range lists {
		for _, one := range items {
			o := offered{one, all[i], one.Key}
			if taken[one.Key] || there[all[i].lost[of.One()+" "+one.Key]] {
				second = append(second, o)
				continue
			}
			taken[one.Key] = true
			out = append(out, o)
		}
	}
	for _, o := range second {
		if of != mcpwire.Prompts {
			break // a URI cannot be another
		}
		o.Key = o.from.name + "." + o.theirs
		members := mcpjson.ObjectOf(o.Raw)
		for i := range members {
			if members[i].Key == "name" {
				members[i].Value = quoted(o.Key)
			}
		}
		o.Raw = mcpjson.EncodeObject(members)
		if !taken[o.Key] {
			taken[o.Key] = true
			out = append(out, o)
		}
	}
	slices.SortFunc(out, func(a, b offered) int { return strings.Compare(a.Key, b.Key) })
	return out
}

// find returns what has a key.
func find(all []offered, key string) (offered, bool) {
	i, ok := slices.BinarySearchFunc(all, key, func(o offered, key string) int { return strings.Compare(o.Key, key) })
	if !ok {
		return offered{}, false
	}
	return all[i], true
}

// ofPrompt returns the server that has a prompt, and its name there. If none has it that the client may reach by a tool,
// it is one that the client may not, so that the call is on record, and refused.
func (c *clientSession) ofPrompt(ctx context.Context, own mcpwire.Own, name string) (from []reachable, theirs string) {
	all := c.reachable()
	if one, ok := find(c.gather(ctx, mcpwire.Prompts, by(all, own, true)), name); ok {
		return []reachable{one.from}, one.theirs
	}
	return firstOf(by(all, own, false)), name
}

// ofURI returns the servers that may have a resource, or a template: the one that lists it, or that named it to
// the client, those with a template that begins as it does, or the only server. If there is none, it is as with ofPrompt.
func (c *clientSession) ofURI(ctx context.Context, own mcpwire.Own, uri string) []reachable {
	all := c.reachable()
	within := by(all, own, true)
	if one, ok := find(c.gather(ctx, mcpwire.Resources, within), uri); ok {
		return []reachable{one.from}
	}
	var out []reachable
	add := func(r reachable) {
		if !slices.ContainsFunc(out, func(o reachable) bool { return o.relay == r.relay }) {
			out = append(out, r)
		}
	}
	for _, r := range within {
		if r.Named(c.session.ID(), uri) {
			add(r)
		}
	}
	templates := c.gather(ctx, mcpwire.Templates, within)
	for _, r := range within { // in the order in which they came, however long their templates are
		for _, t := range templates {
			if literal, _, _ := strings.Cut(t.Key, "{"); t.from.relay == r.relay && strings.HasPrefix(uri, literal) {
				add(r)
			}
		}
	}
	switch {
	case len(out) == 0 && len(within) == 1: // servers take URIs that they list nowhere
		return within
	case len(out) == 0:
		return firstOf(by(all, own, false))
	}
	return out
}

func firstOf(all []reachable) []reachable { return all[:min(len(all), 1)] }

// call runs a call of one of the host's own tools. Its result is that of the server, as the server sent it.
func (c *clientSession) call(ctx context.Context, to reachable, own mcpwire.Own, args any) (json.RawMessage, error) {
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
	if e := tool.AsError(err); err != nil && e.Code == tool.CodeNotFound && e.Stage == callstage.Resolve {
		return nil, errNotReached
	}
	return res.Structured, err
}

// errNotReached says that the client reaches no such server.
var errNotReached = errors.New("the client does not reach it")
