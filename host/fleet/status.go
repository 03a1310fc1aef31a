package fleet

import (
	"cmp"
	"context"
	"slices"
	"time"

	"github.com/toolhost/toolhost/host"
)

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
	// Reason is why it is not used, or what is wrong with it otherwise.
	Reason string `json:"reason,omitempty"`
	// Tools is how many it shares with this host.
	Tools int `json:"tools"`
	// Running, Waiting and Slots are its calls in progress, those that wait, and how many may run.
	// Slots 0: not known.
	Running int `json:"running"`
	Waiting int `json:"waiting"`
	Slots   int `json:"slots"`
	// Calls is how many calls of this host are in progress there.
	Calls int `json:"calls"`
	// Latency is the median of how long calls of the tools there are expected to take; 0: there were none.
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
	// Versions are the definitions of the name that hosts share, the one that is used first. Those that differ only in
	// texts are one, unless the rule names one of them.
	Versions []VersionStatus `json:"versions"`
	// Waiting is how many calls wait here as all hosts that could take them are full, and Oldest for how long the one does
	// that has waited longest.
	Waiting int           `json:"waiting,omitempty"`
	Oldest  time.Duration `json:"oldest_ns,omitempty"`
}

// VersionStatus is one definition of a tool's name.
type VersionStatus struct {
	// Digest is the SHA-256 of the newest definition, in hexadecimal digits.
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

// View is a fleet as one of its hosts sees it.
type View struct {
	Hosts    []HostStatus    `json:"hosts"`
	Replicas []ReplicaStatus `json:"replicas"`
	Tools    []ToolStatus    `json:"tools"`
	Queue    QueueStatus     `json:"queue"`
}

// View returns the fleet as a host sees it, which has this one as an admin, or its key. Empty: this host.
//
// # Errors
//
// Those of [Fleet.Drain].
func (f *Fleet) View(ctx context.Context, name string) (View, error) {
	m, err := f.one(name)
	if err != nil {
		return View{}, err
	}
	if m == nil {
		return f.view(), nil
	}
	var v View
	err = m.operate(ctx, viewOperation, struct{}{}, &v)
	return v, err
}

func (f *Fleet) view() View { return View{f.Hosts(), f.Replicas(), f.Tools(), f.Queue()} }

// Hosts returns the hosts of the fleet, this one first, the others sorted by name.
func (d *directory) Hosts() []HostStatus {
	c := d.settings.Load()
	self := HostStatus{
		Name: c.Name, Self: true, Key: c.Key.Public(), Instance: d.self.ID(), Version: cmp.Or(c.Version, host.Version), Labels: c.Labels,
		State: HostReady, Tools: len(d.catalogue.Load().index(c.Share)),
	}
	own := d.load()
	self.Running, self.Waiting, self.Slots = own.Running, own.Waiting, own.Slots
	if d.draining.Load() {
		self.State = HostDraining
	}
	if err := d.denied(); err != nil {
		self.Reason = "the NATS server refuses a subject: " + err.Error()
	}
	expected := map[string][]time.Duration{}
	for _, r := range d.mounts.Replicas() {
		expected[r.Instance] = append(expected[r.Instance], r.Expected)
	}
	d.mounts.mu.Lock()
	defer d.mounts.mu.Unlock()
	d.mu.Lock()
	defer d.mu.Unlock()
	if !d.nc.IsConnected() {
		self.State, self.Reason = HostLate, "it has no connection to the NATS server"
		if why, _ := d.lostBy.Load().(string); why != "" {
			self.Reason += ": " + why
		}
	}
	var out []HostStatus
	names := map[string]int{c.Name: 1}
	for _, m := range d.members {
		names[m.host]++
		s := status(m.said, m.heard)
		s.Reason = m.unread
		s.Peer, s.Tools, s.Calls, s.Latency, s.Skew = m.peer, len(m.offers), int(m.calls.Load()), median(expected[m.id]), m.skew
		switch {
		case m.refused != "":
			s.State, s.Reason = HostRefused, m.refused
		case m.denies:
			s.State = HostRefused
		case m.removed:
			s.State, s.Reason = HostDraining, "its key is not known here any more: the calls end that run"
		case m.late:
			s.State = HostLate
		case m.said.Draining:
			s.State = HostDraining
		}
		out = append(out, s)
	}
	for id, x := range d.strangers {
		if d.members[id] != nil || time.Since(x.heard) > strangerFor {
			continue
		}
		s := status(x.said, x.heard)
		s.State, s.Reason = HostRefused, "its key is not known here: nats.peers lists those that are"
		out = append(out, s)
	}
	slices.SortFunc(out, func(a, b HostStatus) int {
		return cmp.Or(cmp.Compare(a.Name, b.Name), cmp.Compare(a.Instance, b.Instance))
	})
	out = append([]HostStatus{self}, out...)
	for i := range out {
		if names[out[i].Name] > 1 && out[i].Reason == "" {
			out[i].Reason = "another host has this name too"
		}
	}
	return out
}

func status(a *announcement, heard time.Time) HostStatus {
	return HostStatus{
		Name: a.cleanName(), Key: a.Key, Instance: a.id(), Version: a.Version, Labels: a.Labels, State: HostReady,
		Running: a.Load.Running, Waiting: a.Load.Waiting, Slots: a.Load.Slots, Heard: time.Since(heard),
	}
}

// median returns that of times, which it sorts; 0: there are none.
func median(all []time.Duration) time.Duration {
	slices.Sort(all)
	if len(all) == 0 {
		return 0
	}
	return all[len(all)/2]
}
