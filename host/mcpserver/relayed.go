package mcpserver

import (
	"context"
	"encoding/json"
	"errors"
	"maps"
	"slices"
	"strconv"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var listCache = mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}

// itemPage answers a request for a page of what mounted servers have of a kind.
func (c *clientSession) itemPage(k mcpwire.Kind, at string, latest bool, all []offered) (mcp.Result, error) {
	page, next, err := pageAt(c, string(k), at, all, func(o *offered) string { return o.Key })
	if err != nil {
		return nil, err
	}
	items := make([]json.RawMessage, len(page))
	for i, o := range page {
		items[i] = o.Raw
	}
	list, err := json.Marshal(items)
	if err != nil {
		return nil, err
	}
	out := &passedResult{members: []mcpjson.Member{{Key: string(k), Value: list}}}
	out.members = append(out.members, cacheMembers(listTTL)...)
	if next != "" {
		out.members = append(out.members, mcpjson.Member{Key: "nextCursor", Value: quoted(next)})
	}
	if latest {
		out.members = append(out.members, mcpjson.Member{Key: "resultType", Value: quoted(resultComplete)})
	}
	return out, nil
}

// cacheMembers are how long, in milliseconds, and by whom a result may be kept.
func cacheMembers(ttl int) []mcpjson.Member {
	return []mcpjson.Member{
		{Key: "ttlMs", Value: json.RawMessage(strconv.Itoa(ttl))}, {Key: "cacheScope", Value: quoted(listCache.CacheScope)},
	}
}

func (c *clientSession) listPrompts(ctx context.Context, r *mcp.ListPromptsRequest) (mcp.Result, error) {
	return c.itemPage(mcpwire.Prompts, r.Params.Cursor, isStateless(r.Params.Meta), c.prompts(ctx))
}

func (c *clientSession) listResources(ctx context.Context, r *mcp.ListResourcesRequest) (mcp.Result, error) {
	return c.itemPage(mcpwire.Resources, r.Params.Cursor, isStateless(r.Params.Meta), c.resources(ctx))
}

func (c *clientSession) listTemplates(ctx context.Context, r *mcp.ListResourceTemplatesRequest) (mcp.Result, error) {
	return c.itemPage(mcpwire.Templates, r.Params.Cursor, isStateless(r.Params.Meta), c.templates(ctx))
}

// getPrompt answers prompts/get.
func (c *clientSession) getPrompt(ctx context.Context, r *mcp.GetPromptRequest) (mcp.Result, error) {
	p := r.Params
	at := c.requestOf(ctx, r.Session, r.Extra, p.Meta)
	var args []byte
	for _, name := range slices.Sorted(maps.Keys(p.Arguments)) {
		args = append(args, name+"\x00"+p.Arguments[name]+"\x00"...)
	}
	key := requestKey{"prompts/get", p.Name, args}
	return c.answer(ctx, at, key, p.RequestState, p.InputResponses, func(ctx context.Context) (mcp.Result, error) {
		from := find(c.prompts(ctx), p.Name)
		if from == nil {
			return nil, invalid("Unknown prompt: %.200s", p.Name)
		}
		res, err := from.GetPrompt(ctx, p.Name, p.Arguments)
		if err != nil {
			return nil, passedOn(err)
		}
		return at.passed(res), nil
	})
}

// readResource answers resources/read.
func (c *clientSession) readResource(ctx context.Context, r *mcp.ReadResourceRequest) (mcp.Result, error) {
	p := r.Params
	at := c.requestOf(ctx, r.Session, r.Extra, p.Meta)
	key := requestKey{"resources/read", p.URI, nil}
	return c.answer(ctx, at, key, p.RequestState, p.InputResponses, func(ctx context.Context) (mcp.Result, error) {
		err := mcp.ResourceNotFoundError(p.URI)
		for _, from := range c.ofURI(ctx, p.URI) {
			raw, ttl, failed := from.ReadResource(ctx, p.URI)
			if err = failed; err != nil {
				continue // another server may have it
			}
			return at.passed(raw, cacheMembers(ttl)...), nil
		}
		return nil, passedOn(err)
	})
}

// complete answers completion/complete.
func (c *clientSession) complete(ctx context.Context, r *mcp.CompleteRequest) (mcp.Result, error) {
	p := r.Params
	if p.Ref == nil || p.Argument.Name == "" {
		return nil, invalid("a completion needs a ref, and the name of an argument")
	}
	var from *relay
	if p.Ref.Type == "ref/prompt" {
		from = find(c.prompts(ctx), p.Ref.Name)
	} else if from = find(c.templates(ctx), p.Ref.URI); from == nil {
		from = find(c.resources(ctx), p.Ref.URI)
	}
	if from == nil {
		return nil, invalid("no mounted server has %.200s", p.Ref.Name+p.Ref.URI)
	}
	res, err := from.Complete(ctx, &mcp.CompleteParams{Argument: p.Argument, Context: p.Context, Ref: p.Ref})
	if err != nil {
		return nil, passedOn(err)
	}
	maps.DeleteFunc(res.Meta, func(key string, _ any) bool { return mcpjson.IsReserved(key) })
	return res, nil
}

// passedOn returns an error of a mounted server for the client: the server's own errors as they
// are, others as the host words them for models.
func passedOn(err error) error {
	var theirs *jsonrpc.Error
	if errors.As(err, &theirs) {
		return theirs
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tool.ModelText(err, "")}
}

// subscribe answers resources/subscribe, and what subscriptions/listen asks for of a resource.
func (s *Server) subscribe(ctx context.Context, r *mcp.SubscribeRequest) error {
	s.mu.Lock()
	c := s.sessions[r.Session]
	if l := s.listeners[r.Session]; c == nil && l != nil {
		c = l.client
	}
	full := len(s.subscribed[r.Session]) >= s.opts.MaxOpen
	_, again := s.subscribed[r.Session][r.Params.URI]
	s.mu.Unlock()
	switch {
	case c == nil:
		return errUninitialized
	case again:
		return nil
	case full:
		return refused("%d resources are subscribed to, and that is the limit", s.opts.MaxOpen)
	}
	err := mcp.ResourceNotFoundError(r.Params.URI)
	for _, from := range c.ofURI(ctx, r.Params.URI) {
		if err = from.Subscribe(ctx, r.Params.URI); err == nil {
			s.mu.Lock()
			defer s.mu.Unlock()
			if s.subscribed[r.Session] == nil {
				s.subscribed[r.Session] = map[string]mcpwire.Source{}
			}
			s.subscribed[r.Session][r.Params.URI] = from.Source
			return nil
		}
	}
	return passedOn(err)
}

func (s *Server) unsubscribe(ctx context.Context, r *mcp.UnsubscribeRequest) error {
	s.mu.Lock()
	from := s.subscribed[r.Session][r.Params.URI]
	delete(s.subscribed[r.Session], r.Params.URI)
	if len(s.subscribed[r.Session]) == 0 {
		delete(s.subscribed, r.Session)
	}
	s.mu.Unlock()
	if from == nil {
		return nil
	}
	return from.Unsubscribe(context.WithoutCancel(ctx), r.Params.URI)
}

// unsubscribeAll ends what a session that is gone has subscribed to.
func (s *Server) unsubscribeAll(ss *mcp.ServerSession) {
	s.mu.Lock()
	all := s.subscribed[ss]
	delete(s.subscribed, ss)
	s.mu.Unlock()
	for uri, from := range all {
		_ = from.Unsubscribe(context.Background(), uri)
	}
}

// adjust leaves out what no mounted server has that the client sees. One that was never
// connected may have anything.
func (s *Server) adjust(all []*relay, c *mcp.ServerCapabilities) {
	var prompts, resources, completions bool
	for _, r := range all {
		has := r.Capabilities()
		prompts = prompts || has == nil || has.Prompts != nil
		resources = resources || has == nil || has.Resources != nil
		completions = completions || has == nil || has.Completions != nil
	}
	if !prompts {
		c.Prompts = nil
	}
	if !resources {
		c.Resources = nil
	}
	if !completions {
		c.Completions = nil
	}
}
