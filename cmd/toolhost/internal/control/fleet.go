package control

import (
	"context"

	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
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

// FleetHosts returns the hosts of the daemon's fleet.
//
// # Errors
//
// [tool.CodeUnsupported] if it is in none.
func (c *Client) FleetHosts(ctx context.Context) ([]fleet.HostStatus, error) {
	r, err := do[daemonv1.ListFleetHostsResponse](ctx, c, daemonv1.DaemonListFleetHostsProcedure, &daemonv1.ListFleetHostsRequest{})
	return allOf[fleet.HostStatus](r.GetHosts()), err
}

// FleetTools returns the tools of the daemon's fleet.
//
// # Errors
//
// [tool.CodeUnsupported] if it is in none.
func (c *Client) FleetTools(ctx context.Context) ([]fleet.ToolStatus, error) {
	r, err := do[daemonv1.ListFleetToolsResponse](ctx, c, daemonv1.DaemonListFleetToolsProcedure, &daemonv1.ListFleetToolsRequest{})
	return allOf[fleet.ToolStatus](r.GetTools()), err
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
	request := &daemonv1.DrainHostRequest{Name: name, Resume: !on, Wait: wait}
	_, err := do[daemonv1.DrainHostResponse](ctx, c, daemonv1.DaemonDrainHostProcedure, request)
	return err
}
