package mcpserver

import (
	"context"
	"encoding/json"
	"sync"
	"time"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
)

// The methods of the protocol that are told apart here, and for which the SDK has no names.
const (
	methodToolsChanged     = "notifications/tools/list_changed"
	methodPromptsChanged   = "notifications/prompts/list_changed"
	methodResourcesChanged = "notifications/resources/list_changed"
	methodResourceUpdated  = "notifications/resources/updated"
)

// notifyTimeout bounds one notification of a client that does not read.
const notifyTimeout = 10 * time.Second

// listener is an MCP session to which changes of the list are sent: the SDK sends to all, and
// send drops what does not concern one.
type listener struct {
	client *clientSession

	mu      sync.Mutex
	digest  uint64          // of its tools
	sending map[string]bool // the notifications that are being sent, and whether once more
}

// follow makes a session one that is told of changes from now on.
func (s *Server) follow(ss *mcp.ServerSession, c *clientSession) {
	l := &listener{client: c, digest: c.digest(), sending: map[string]bool{}}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.listeners[ss] = l
}

// listen answers subscriptions/listen.
func (s *Server) listen(
	ctx context.Context, next mcp.MethodHandler, method string, r *mcp.SubscriptionsListenRequest,
) (mcp.Result, error) {
	c, err := s.clientOf(ctx, r.Session, r.Extra, r.Params.GetMeta())
	if err != nil {
		return nil, err
	}
	if err := c.begin(); err != nil {
		return nil, err
	}
	defer c.done()
	s.follow(r.Session, c)
	defer func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		delete(s.listeners, r.Session)
	}()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer context.AfterFunc(s.ended, cancel)()
	return next(ctx, method, r)
}

// changed is a tool that the SDK is given again and again: it then tells its sessions that the
// tools have changed, each on the channel that it listens to.
var changed = &mcp.Tool{Name: "changed", InputSchema: json.RawMessage(`{"type":"object"}`)}

func (s *Server) announceTools() { s.mcp.AddTool(changed, unreachable) }

// As changed is, for prompts and resources.
var (
	changedPrompt   = &mcp.Prompt{Name: "changed"}
	changedResource = &mcp.Resource{URI: "toolhost:changed", Name: "changed"}
)

func (s *Server) announcePrompts()   { s.mcp.AddPrompt(changedPrompt, nil) }
func (s *Server) announceResources() { s.mcp.AddResource(changedResource, nil) }

func (s *Server) resourceUpdated(uri string) {
	go func() { // the SDK waits for each client
		_ = s.mcp.ResourceUpdated(context.Background(), &mcp.ResourceUpdatedNotificationParams{URI: uri})
	}()
}

// send passes on what the SDK sends to clients, and keeps from each what does not concern it.
func (s *Server) send(next mcp.MethodHandler) mcp.MethodHandler {
	return func(ctx context.Context, method string, req mcp.Request) (mcp.Result, error) {
		ss, ok := req.GetSession().(*mcp.ServerSession)
		if !ok {
			return next(ctx, method, req)
		}
		s.mu.Lock()
		l := s.listeners[ss]
		s.mu.Unlock()
		var concerns bool
		key := method // of what need not be said twice
		switch method {
		case methodToolsChanged:
			concerns = l != nil && l.changed(methodToolsChanged, l.client.digest)
		case methodPromptsChanged:
			concerns = l != nil && len(by(l.client.reachable(), mcpwire.Prompt, true)) > 0 && l.changed(method, nil)
		case methodResourcesChanged:
			concerns = l != nil && len(by(l.client.reachable(), mcpwire.Read, true)) > 0 && l.changed(method, nil)
		case methodResourceUpdated:
			if p, ok := req.GetParams().(*mcp.ResourceUpdatedNotificationParams); ok {
				key += " " + p.URI
			}
			concerns = l != nil && l.changed(key, nil)
		default:
			res, err := next(ctx, method, req)
			answer, _ := ctx.Value(answerKey{}).(*relayedAnswer)
			answer.keep(res)
			return res, err
		}
		if concerns {
			// A client that does not read must not keep others from being told.
			go l.deliver(key, func() {
				ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), notifyTimeout)
				defer cancel()
				_, _ = next(ctx, method, req)
			})
		}
		return nil, nil //nolint:nilnil // as the SDK wants it of a notification
	}
}

// changed reports whether the client has to be told, and is not being told. A list has to be
// told of if its digest is not as it was; nil: always.
func (l *listener) changed(method string, digest func() uint64) bool {
	var now uint64
	if digest != nil {
		now = digest()
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	if digest != nil {
		if now == l.digest {
			return false
		}
		l.digest = now
	}
	again, sending := l.sending[method]
	l.sending[method] = again || sending
	return !sending
}

// deliver sends a notification, and once more if there was another change meanwhile.
func (l *listener) deliver(method string, send func()) {
	for {
		send()
		l.mu.Lock()
		again := l.sending[method]
		if !again {
			delete(l.sending, method)
			l.mu.Unlock()
			return
		}
		l.sending[method] = false
		l.mu.Unlock()
	}
}
