package control

import (
	"github.com/toolhost/toolhost/host/fleet"
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
