package control

import (
	"context"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/host/plugin"
)

// sandbox answers null if the plugin has no process.
func (s *Server) sandbox(w http.ResponseWriter, r *http.Request) {
	end, err := s.beginWork(r)
	if err != nil {
		fail(w, http.StatusServiceUnavailable, err)
		return
	}
	defer end()
	var out *plugin.SandboxStatus
	if status, ok := s.service.Sandbox(r.PathValue("name")); ok {
		out = &status
	}
	reply(w, out)
}

// Sandbox returns what the process of a plugin of the daemon may do; nil: it has none.
//
// # Errors
//
// [tool.CodePermissionDenied] if the daemon is another user's; [tool.CodeUnavailable] if it is
// gone.
func (c *Client) Sandbox(ctx context.Context, name string) (out *plugin.SandboxStatus, err error) {
	err = c.get(ctx, "/v1/plugins/"+url.PathEscape(name)+"/sandbox", &out)
	return out, c.explain(err)
}
