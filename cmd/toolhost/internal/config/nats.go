package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/host/fleet"
)

// NATS is what a daemon does in a fleet. The zero value joins none.
type NATS struct {
	// URL is where the servers are, several separated by commas. Default: empty.
	URL Addresses `json:"url,omitempty"`
	// Embedded is the port of a server in the daemon; 0: any free one. Default: nil, none.
	Embedded *int `json:"embedded,omitempty"`
	// Credentials is a file, absolute. Default: empty, the host logs in with its key.
	Credentials string `json:"credentials,omitempty"`
	// TLS names files, absolute. Default: those of the system.
	TLS fleet.TLS `json:"tls"`
	// Key is the file of the host's key, absolute. Default: empty, one of the user's.
	Key string `json:"key,omitempty"`
	// Name is what the host is called. Default: empty, the name of the machine.
	Name string `json:"name,omitempty"`
	// Labels are what others may choose the host by. Default: none.
	Labels map[string]string `json:"labels,omitempty"`
	// Share and Mount are patterns of tools. Default: none.
	Share []string `json:"share,omitempty"`
	Mount []string `json:"mount,omitempty"`
	// Prefix is put in front of the names of mounted tools. Default: empty.
	Prefix string `json:"prefix,omitempty"`
	// Peers are other hosts that are known. Default: none.
	Peers map[string]Peer `json:"peers,omitempty"`
	// Rules say how calls are placed. Default: none.
	Rules []fleet.Rule `json:"rules,omitempty"`
	// Callers are those of other hosts, see [NATS.Caller]. Default: none.
	Callers map[string]Caller `json:"callers,omitempty"`
	// MaxCalls is how many calls of each known host may be in progress. Default: 1,024.
	MaxCalls int `json:"max_calls"`
	// Store is where the embedded server keeps durable calls, absolute. Default: empty, a
	// directory of the user's if a rule has durable.
	Store string `json:"store,omitempty"`
}

// Addresses are URLs with commas between them. They marshal without what looks like a secret.
type Addresses string

// Shown returns the URLs without users and without what looks like a secret.
func (a Addresses) Shown() string {
	all := strings.Split(string(a), ",")
	for i, one := range all {
		all[i] = Address(one).Shown()
	}
	return strings.Join(all, ",")
}

// MarshalJSON hides what looks like a secret.
func (a Addresses) MarshalJSON() ([]byte, error) { return json.Marshal(a.Shown()) }

// Peer is a [fleet.Peer], of which an empty list is another thing than none.
type Peer struct {
	Key   string   `json:"key,omitempty"`
	Share []string `json:"share,omitzero"`
	Mount []string `json:"mount,omitzero"`
	Admin bool     `json:"admin"`
}

// Known returns the peers as the fleet takes them.
func (n NATS) Known() map[string]fleet.Peer {
	out := make(map[string]fleet.Peer, len(n.Peers))
	for name, p := range n.Peers {
		out[name] = fleet.Peer(p)
	}
	return out
}

// Joins reports whether the host is to be in a fleet.
func (n NATS) Joins() bool { return n.URL != "" || n.Embedded != nil }

// Durable reports whether a rule says how calls run that outlive their caller.
func (n NATS) Durable() bool {
	return slices.ContainsFunc(n.Rules, func(r fleet.Rule) bool { return r.Durable != "" })
}

// AnyCaller is the name in [NATS.Callers] of the callers that are not named.
const AnyCaller = "*"

// Caller returns what the file gives a caller of another host, and the name that it has here, which
// no caller of this host's own has. Host is the name that stands for the key of the other one. What
// the caller is called is that host's word: if the file does not have it, all callers of the host
// are one, or it would give each of its calls another name and thus another rate.
func (n NATS) Caller(host, caller string) (name string, c Caller) {
	if c, ok := n.Callers[host+"/"+caller]; ok {
		return host + "/" + caller, c
	}
	c, ok := n.Callers[host]
	if !ok {
		c = n.Callers[AnyCaller]
	}
	return host + "/" + AnyCaller, c
}

const maxLabels = 32

// checkNATS notes what no host can do.
func (r *reader) checkNATS(n NATS) {
	if n.Embedded != nil {
		const hint = "remove one of them"
		for _, other := range []string{"url", "credentials", "tls"} {
			if r.has("nats." + other) {
				r.at("nats."+other, hint, "it has no effect with nats.embedded: the server is in the daemon")
			}
		}
	}
	switch {
	case n.TLS.Cert != "" && n.TLS.Key == "":
		r.at("nats.tls.cert", "name the file of its private key under nats.tls.key", "a certificate needs its key")
	case n.TLS.Key != "" && n.TLS.Cert == "":
		r.at("nats.tls.key", "name the file of the certificate under nats.tls.cert", "a key needs its certificate")
	}
	r.checkLabels("nats.labels", n.Labels)
	keys := map[string]string{}
	for _, name := range slices.Sorted(maps.Keys(n.Peers)) {
		key, p := below("nats.peers", name), n.Peers[name]
		switch {
		case p.Key == "" && !r.has(key+".key"):
			r.at(key, "print it there with toolhost fleet key, and write it under key", "the host has no key")
		case p.Key != "" && !fleet.ValidKey(p.Key):
			r.at(key+".key", "print it there with toolhost fleet key", "it is not the public half of a host's key: a letter or digit is wrong")
		case keys[p.Key] != "":
			r.at(key+".key", "remove one of them", "%s has this key too", keys[p.Key])
		}
		if p.Key != "" {
			keys[p.Key] = name
		}
	}
	for i, rule := range n.Rules {
		key := item("nats.rules", i)
		if rule.Tools == "" && !r.has(key+".tools") {
			r.at(key, "name a tool or a pattern under tools", "the rule is of no tools")
		}
		r.checkLabels(key+".labels", rule.Labels)
		r.checkLabels(key+".avoid", rule.Avoid)
	}
	for _, name := range slices.Sorted(maps.Keys(n.Callers)) {
		r.checkCaller(below("nats.callers", name), n.Callers[name])
	}
}

func (r *reader) checkLabels(key string, labels map[string]string) {
	if len(labels) > maxLabels {
		r.at(key, "remove some", "there are %d labels, more than %d", len(labels), maxLabels)
	}
}
