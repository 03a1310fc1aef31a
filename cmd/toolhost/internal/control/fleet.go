package control

import (
	"context"
	"net/http"
	"net/url"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// FleetState is a daemon's part in a fleet.
type FleetState struct {
	Name string `json:"name"`
	// Server is where the NATS server is, without what looks like a secret.
	Server string `json:"server"`
	// State is that of the host itself; Reason says why it is not ready.
	State  fleet.HostState `json:"state"`
	Reason string          `json:"reason,omitempty"`
	// Hosts counts the others that are known, and Refused those that are not used.
	Hosts   int `json:"hosts"`
	Refused int `json:"refused"`
	// Tools counts the mounted tools, and Calls the calls in progress on other hosts.
	Tools int `json:"tools"`
	Calls int `json:"calls"`
	// Queue is that of durable calls; nil: no rule is durable, and no other host has made one.
	Queue *fleet.QueueStatus `json:"queue,omitempty"`
}

// Reached reports whether the host is in its fleet.
func (f *FleetState) Reached() bool {
	return f.State == fleet.HostReady || f.State == fleet.HostDraining
}

func (s *Server) fleetHosts(w http.ResponseWriter, r *http.Request) {
	f, err := s.service.Fleet()
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	s.replyLarge(w, r, append([]fleet.HostStatus{}, f.Hosts()...))
}

func (s *Server) fleetTools(w http.ResponseWriter, r *http.Request) {
	f, err := s.service.Fleet()
	if err != nil {
		fail(w, http.StatusConflict, err)
		return
	}
	s.replyLarge(w, r, append([]fleet.ToolStatus{}, f.Tools()...))
}

// drainHost has a host take no new calls, or take them again. With the query wait it waits for the
// end of those in progress.
func (s *Server) drainHost(on bool) http.HandlerFunc {
	action := map[bool]string{true: "fleet drain", false: "fleet resume"}[on]
	return s.do(action, func(ctx context.Context, r *http.Request) error {
		f, err := s.service.Fleet()
		if err != nil {
			return err
		}
		err = f.Drain(ctx, r.PathValue("name"), on)
		if err == nil && r.URL.Query().Has("wait") {
			err = f.Drained(ctx, r.PathValue("name"))
		}
		return err
	})
}

// FleetHosts returns the hosts of the daemon's fleet.
//
// # Errors
//
// [tool.CodeUnsupported] if it is in none.
func (c *Client) FleetHosts(ctx context.Context) ([]fleet.HostStatus, error) {
	var out []fleet.HostStatus
	err := c.get(ctx, "/v1/fleet/hosts", &out)
	return out, c.explain(err)
}

// FleetTools returns the tools of the daemon's fleet.
//
// # Errors
//
// [tool.CodeUnsupported] if it is in none.
func (c *Client) FleetTools(ctx context.Context) ([]fleet.ToolStatus, error) {
	var out []fleet.ToolStatus
	err := c.get(ctx, "/v1/fleet/tools", &out)
	return out, c.explain(err)
}

// DrainHost has a host of the daemon's fleet take no new calls, or take them again. With wait it
// returns when the calls of other hosts there have ended.
//
// # Errors
//
// [tool.CodeUnsupported] if the daemon is in no fleet; those of [fleet.Fleet.Drain] and
// [fleet.Fleet.Drained].
func (c *Client) DrainHost(ctx context.Context, name string, on, wait bool) error {
	if name == "" { // it would stand for the daemon's own
		return tool.Errorf(tool.CodeInvalidArguments, "the host has no name")
	}
	what := "/resume"
	if on {
		what = "/drain"
	}
	if wait {
		what += "?wait"
	}
	return c.explain(c.ask(ctx, http.MethodPost, "/v1/fleet/hosts/"+url.PathEscape(name)+what, nil, nil))
}
