package mcpclient

import (
	"context"
	"net/url"
	"path/filepath"
	"reflect"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// maxRoots bounds the roots of a client that are kept.
const maxRoots = 100

// roots are those of the caller. One that cannot say has those that are offered to all.
func (l *link) roots(ctx context.Context) (*mcp.ListRootsResult, error) {
	to := mcpwire.PeerFrom(ctx)
	if to == nil {
		return l.u.offeredRoots(), nil
	}
	out, err := ask(ctx, l, to.ListRoots)
	chain.TraceFrom(ctx).Asked(string(askRoots), string(tool.Accept), err)
	if tool.CodeOf(err) == tool.CodeUnsupported {
		return l.u.offeredRoots(), nil
	}
	return out, err
}

// offeredRoots are what the server is told where no caller's roots count, as when it is connected to: those of the
// only client. The workspace is not offered by itself, as a file server takes it in place of its own arguments.
func (u *Upstream) offeredRoots() *mcp.ListRootsResult {
	u.mu.Lock()
	defer u.mu.Unlock()
	return &mcp.ListRootsResult{Roots: append([]*mcp.Root{}, u.offered...)}
}

// OfferRoots implements [mcpwire.Source]. What is outside of the workspace is left out: the server's sandbox need not
// show it.
func (u source) OfferRoots(all []*mcp.Root) {
	var within []*mcp.Root
	for _, r := range all[:min(len(all), maxRoots)] {
		if at, err := url.Parse(r.URI); err == nil && at.Scheme == "file" && at.Host == "" && u.isWithin(at.Path) {
			within = append(within, &mcp.Root{URI: r.URI, Name: r.Name})
		}
	}
	u.mu.Lock()
	same, l := reflect.DeepEqual(u.offered, within), u.link
	u.offered = within
	u.mu.Unlock()
	if !same && l != nil && !l.stateless() {
		go l.sdk.AddRoots(&mcp.Root{URI: "file:///"}) // to have the SDK tell the server: what it asks is answered here
	}
}

// isWithin reports whether a path is in the workspace.
func (u *Upstream) isWithin(path string) bool {
	if u.config.Root == "" {
		return false
	}
	within, err := filepath.Rel(u.config.Root, filepath.FromSlash(path))
	return err == nil && filepath.IsLocal(within)
}
