package mcpserver

import (
	"context"

	"github.com/modelcontextprotocol/go-sdk/mcp"
)

// A mounted server may ask for roots when it is connected to, during no call of anyone. The roots of a client are told
// it then if no other client has any: whose they would be is not known otherwise.

// rootsAsk is a client that is asked for its roots.
type rootsAsk struct {
	session *mcp.ServerSession
	cancel  context.CancelFunc
}

// learnRoots asks a client of a revision with sessions for its roots, in the background, unless it is about to leave.
func (s *Server) learnRoots(ss *mcp.ServerSession) {
	init := ss.InitializeParams()
	if init == nil || init.Capabilities == nil || init.Capabilities.RootsV2 == nil || len(s.relays()) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(s.ended, s.opts.QuestionTimeout)
	ask := &rootsAsk{ss, cancel}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.leaving[ss.ID()] {
		cancel()
		return
	}
	s.rootsAsks[ask] = true
	s.tasks.Go(func() {
		defer cancel()
		res, err := ss.ListRoots(ctx, nil)
		s.mu.Lock()
		delete(s.rootsAsks, ask)
		c := s.sessions[ss]
		known := err == nil && c != nil
		if known {
			s.roots[ss] = res.Roots
		}
		s.mu.Unlock()
		if known {
			s.offerRoots()
		}
	})
}

// unaskRoots waits for the roots of some clients no longer. The lock is held.
func (s *Server) unaskRoots(of func(*mcp.ServerSession) bool) {
	for ask := range s.rootsAsks {
		if of(ask.session) {
			ask.cancel()
		}
	}
}

// forgetRoots forgets those of a client that is gone.
func (s *Server) forgetRoots(ss *mcp.ServerSession) {
	s.mu.Lock()
	s.unaskRoots(func(asked *mcp.ServerSession) bool { return asked == ss })
	_, known := s.roots[ss]
	delete(s.roots, ss)
	s.mu.Unlock()
	if known {
		s.offerRoots()
	}
}

func (s *Server) offerRoots() {
	for _, r := range s.relays() {
		r.OfferRoots(s.onlyRoots())
	}
}

// onlyRoots returns the roots of the only client that has any; nil: there is none, or there are several.
func (s *Server) onlyRoots() (only []*mcp.Root) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, all := range s.roots {
		if only = all; len(s.roots) > 1 {
			return nil
		}
	}
	return only
}
