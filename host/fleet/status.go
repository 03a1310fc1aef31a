package fleet

import "time"

// HostState is what a host of the fleet is doing, as this one sees it.
type HostState string

// The states of a host.
const (
	HostReady    HostState = "ready"    // it takes calls
	HostDraining HostState = "draining" // it ends its calls and takes no new ones
	HostLate     HostState = "late"     // nothing was heard of it for longer than usual
	HostRefused  HostState = "refused"  // it is not used, and Reason says why
)

// HostStatus is a host of the fleet.
type HostStatus struct {
	// Name is what the host calls itself, and Peer the name in [Config.Peers]; empty: it has this
	// host's own key.
	Name string `json:"name"`
	Peer string `json:"peer,omitempty"`
	// Self says that it is this host.
	Self bool `json:"self,omitempty"`
	// Key is the public half of its key, and Instance this start of it.
	Key      string `json:"key"`
	Instance string `json:"instance"`
	// Version is that of toolhost there.
	Version string            `json:"version"`
	Labels  map[string]string `json:"labels,omitempty"`
	State   HostState         `json:"state"`
	Reason  string            `json:"reason,omitempty"`
	// Tools is how many it shares with this host.
	Tools int `json:"tools"`
	// Running, Waiting and Slots are its calls in progress, those that wait, and how many may run.
	// Slots 0: not known.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Slots   int `json:"slots"`
	// Calls is how many calls of this host are in progress there.
	Calls int `json:"calls"`
	// Latency is a moving average of what the calls there took; 0: there were none.
	Latency time.Duration `json:"latency_ns"`
	// Heard is how long ago it was heard of.
	Heard time.Duration `json:"heard_ns"`
	// Skew is how far its clock is ahead of this host's, roughly.
	Skew time.Duration `json:"skew_ns"`
}

// ToolStatus is a tool of the fleet, as it is mounted here.
type ToolStatus struct {
	// Name is the tool's, with the prefix.
	Name string `json:"name"`
	// Versions are the definitions of the name that hosts share, the one that is used first.
	Versions []VersionStatus `json:"versions"`
}

// VersionStatus is one definition of a tool's name.
type VersionStatus struct {
	// Digest is the SHA-256 of the definition, in hexadecimal digits.
	Digest string `json:"digest"`
	// Plugin and Version are what the tool comes with there, by the word of its hosts.
	Plugin  string `json:"plugin,omitempty"`
	Version string `json:"version,omitempty"`
	// Hosts are the names of those that share it, sorted.
	Hosts []string `json:"hosts"`
	// Used says that calls go to it.
	Used bool `json:"used"`
	// Reason is why it is not used.
	Reason string `json:"reason,omitempty"`
}
