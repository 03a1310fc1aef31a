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
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var listCache = mcp.Cacheable{TTLMs: listTTL, CacheScope: "private"}

// serveItems answers a request for a page of what mounted servers have of a kind, as far as the client may reach it by
// a tool.
func serveItems[P mcp.Params](
	ctx context.Context, s *Server, r *mcp.ServerRequest[P], of mcpwire.Kind, own mcpwire.Own, at string,
) (mcp.Result, error) {
	s.awaitStarts(ctx, startsTime)
	return serve(ctx, s, r, func(c *clientSession, ctx context.Context, r *mcp.ServerRequest[P]) (mcp.Result, error) {
		all := c.gather(ctx, of, by(c.reachable(), own, true))
		page, next, err := pageAt(c, string(of), at, all, func(o *offered) string { return o.Key })
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
		members := append([]mcpjson.Member{{Key: string(of), Value: list}}, cacheMembers(listTTL)...)
		if next != "" {
			members = append(members, mcpjson.Member{Key: "nextCursor", Value: quoted(next)})
		}
		if isStateless(r.Params.GetMeta()) {
			members = append(members, mcpjson.Member{Key: "resultType", Value: quoted(resultComplete)})
		}
		return &passedResult{members: members}, nil
	})
}

// cacheMembers are how long, in milliseconds, and by whom a result may be kept.
func cacheMembers(ttl int) []mcpjson.Member {
	return []mcpjson.Member{
		{Key: "ttlMs", Value: json.RawMessage(strconv.Itoa(ttl))}, {Key: "cacheScope", Value: quoted(listCache.CacheScope)},
	}
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
		unknown := invalid("Unknown prompt: %.200s", p.Name)
		from, theirs := c.ofPrompt(ctx, mcpwire.Prompt, p.Name)
		if len(from) == 0 {
			return nil, unknown
		}
		args := map[string]any{"name": theirs}
		if p.Arguments != nil {
			args["arguments"] = p.Arguments
		}
		res, err := c.call(ctx, from[0], mcpwire.Prompt, args)
		if err != nil {
			return nil, passedOn(err, unknown)
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
		raw, _, err := c.ofResource(ctx, mcpwire.Read, p.URI)
		if err != nil {
			return nil, err
		}
		var keep mcp.Cacheable
		_ = json.Unmarshal(raw, &keep) // the SDK has decoded it
		return at.passed(raw, cacheMembers(keep.TTLMs)...), nil
	})
}

// ofResource makes a call about a resource of the first server that has it, and returns the result and the server.
func (c *clientSession) ofResource(ctx context.Context, own mcpwire.Own, uri string) (json.RawMessage, reachable, error) {
	unknown := mcp.ResourceNotFoundError(uri)
	err := unknown
	for _, from := range c.ofURI(ctx, own, uri) {
		raw, failed := c.call(ctx, from, own, map[string]any{"uri": uri})
		if failed == nil {
			return raw, from, nil
		}
		if err = passedOn(failed, unknown); theirError(failed) == nil {
			break // the host's own, and not to be asked about again; else another server may have it
		}
	}
	return nil, reachable{}, err
}

// complete answers completion/complete.
func (c *clientSession) complete(ctx context.Context, r *mcp.CompleteRequest) (mcp.Result, error) {
	p := r.Params
	if p.Ref == nil || p.Argument.Name == "" {
		return nil, invalid("a completion needs a ref, and the name of an argument")
	}
	at := c.requestOf(ctx, r.Session, r.Extra, p.Meta)
	key := requestKey{"completion/complete", p.Ref.Name + p.Ref.URI, nil}
	return c.answer(ctx, at, key, "", nil, func(ctx context.Context) (mcp.Result, error) {
		ref := *p.Ref
		all := c.ofReference(ctx, &ref)
		unknown := invalid("no mounted server has %.200s", p.Ref.Name+p.Ref.URI)
		if len(all) == 0 {
			return nil, unknown
		}
		args := map[string]any{"ref": &ref, "argument": p.Argument}
		if p.Context != nil {
			args["context"] = p.Context
		}
		res, err := c.call(ctx, all[0], mcpwire.Complete, args)
		if err != nil {
			return nil, passedOn(err, unknown)
		}
		return at.passed(res), nil
	})
}

// ofReference returns the server that a completion is for, and makes the reference as the server has it.
func (c *clientSession) ofReference(ctx context.Context, ref *mcp.CompleteReference) (from []reachable) {
	if ref.Type == "ref/prompt" {
		from, ref.Name = c.ofPrompt(ctx, mcpwire.Complete, ref.Name)
		return from
	}
	within := by(c.reachable(), mcpwire.Complete, true)
	if one, ok := find(c.gather(ctx, mcpwire.Templates, within), ref.URI); ok {
		return []reachable{one.from}
	}
	return c.ofURI(ctx, mcpwire.Complete, ref.URI)
}

// theirError returns the error that a mounted server answered a call with; nil: it is another's.
func theirError(err error) *jsonrpc.Error {
	var theirs *jsonrpc.Error
	if tool.AsError(err).Stage == callstage.Execute && errors.As(err, &theirs) {
		return theirs
	}
	return nil
}

// passedOn returns an error of a call for the client: a mounted server's own as they are, unknown for what the
// client does not reach, and others as the host words them for models.
func passedOn(err, unknown error) error {
	switch theirs := theirError(err); {
	case errors.Is(err, errNotReached):
		return unknown
	case theirs != nil:
		return theirs
	}
	return &jsonrpc.Error{Code: jsonrpc.CodeInternalError, Message: tool.ModelText(err, "")}
}

// subscribe answers resources/subscribe, and what subscriptions/listen asks for of a resource.
func (s *Server) subscribe(ctx context.Context, r *mcp.SubscribeRequest) error {
	s.mu.Lock()
	c := s.sessions[r.Session]
	listens := c == nil
	if l := s.listeners[r.Session]; listens && l != nil {
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
	ctx = context.WithValue(ctx, mcpwire.SubscriberKey{}, true)
	if !listens { // else it cannot be asked anything meanwhile
		run := c.newRun(ctx, c.requestOf(ctx, r.Session, r.Extra, r.Params.Meta))
		defer run.end()
		ctx = run
	}
	_, from, err := c.ofResource(ctx, mcpwire.Subscribe, r.Params.URI)
	if err != nil {
		return err
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subscribed[r.Session] == nil {
		s.subscribed[r.Session] = map[string]mcpwire.Source{}
	}
	s.subscribed[r.Session][r.Params.URI] = from.Source
	return nil
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
func (s *Server) adjust(all []reachable, c *mcp.ServerCapabilities) {
	if len(all) > 0 && s.starting() {
		return
	}
	var prompts, resources, completions bool
	for _, r := range all {
		has := r.Capabilities()
		prompts = prompts || r.tools[mcpwire.Prompt] != "" && (has == nil || has.Prompts != nil)
		resources = resources || r.tools[mcpwire.Read] != "" && (has == nil || has.Resources != nil)
		completions = completions || r.tools[mcpwire.Complete] != "" && (has == nil || has.Completions != nil)
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
