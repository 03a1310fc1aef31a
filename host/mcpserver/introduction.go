package mcpserver

import (
	"context"
	"encoding/json"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// initialize begins an MCP session, so that a client that is refused is told at once.
func (s *Server) initialize(
	ctx context.Context, next mcp.MethodHandler, method string, r *mcp.ServerRequest[*mcp.InitializeParams],
) (mcp.Result, error) {
	if info, _ := clientFrom(r.Session, r.Extra); info.Transport == "http" {
		s.mu.Lock()
		err := s.room(info)
		s.mu.Unlock()
		if err != nil {
			s.turnedAway(info.Identity, err)
			return nil, err
		}
	}
	if text, err := json.Marshal(r.Params); err != nil || len(text) > maxIntroducing {
		return nil, invalid("the client says more of itself than %d bytes", maxIntroducing)
	}
	res, err := next(ctx, method, r)
	if err != nil {
		return nil, err
	}
	c, err := s.clientOf(ctx, r.Session, r.Extra, nil)
	if err != nil {
		return nil, err
	}
	s.follow(r.Session, c)
	if init, ok := res.(*mcp.InitializeResult); ok {
		s.adjust(c.reachable(), init.Capabilities)
		delete(init.Capabilities.Extensions, tasksExtension) // tasks are of the stateless revision
	}
	return res, nil
}

// discover answers server/discover.
func (s *Server) discover(
	ctx context.Context, next mcp.MethodHandler, method string, r *mcp.ServerRequest[*mcp.DiscoverParams],
) (mcp.Result, error) {
	res, err := next(ctx, method, r)
	if found, ok := res.(*mcp.DiscoverResult); ok && err == nil {
		c, err := s.clientOf(ctx, r.Session, r.Extra, r.Params.GetMeta())
		if err != nil {
			return nil, err
		}
		s.adjust(c.reachable(), found.Capabilities)
	}
	return res, err
}
