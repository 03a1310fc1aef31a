package config

import (
	"encoding/json"
	"maps"
	"slices"
	"strings"

	"github.com/nats-io/nkeys"

	"github.com/toolhost/toolhost/host/fleet"
)

// NATS is what a daemon does in a fleet. The zero value joins none.
type NATS struct {
	// URL is where the NATS servers are, several of one cluster with commas between them. What looks like a password
	// is never shown again; credentials keeps it out of this file. Not with embedded. Default: none.
	URL Addresses `json:"url,omitempty" is:"servers" example:"tls://nats.example.com:4222"`
	// Embedded runs a NATS server in the daemon, on this port of 127.0.0.1, for hosts on this machine: on is port
	// 4222, 0 any free one. Hosts log in with their keys, this host's own and those of peers.
	//
	// Nil: it runs none.
	Embedded *int `json:"embedded,omitempty" minimum:"0" maximum:"65535" words:"on=4222 off=null" example:"on | 14222"`
	// Credentials is the file with the JWT and the seed of a user of the NATS server, as nsc writes it. Default: the
	// host logs in with its key, as an NKey.
	Credentials string `json:"credentials,omitempty" is:"path" example:"secrets/host.creds"`
	// TLS are the certificates of the connection, in PEM. Default: the authorities of the system, and no
	// certificate of the host's own.
	TLS fleet.TLS `json:"tls"`
	// Key is the file of the host's secret key, which is made if it is not there. Other users must not be able to read
	// it. Default: fleet.key in the user's state directory.
	Key string `json:"key,omitempty" is:"path" example:"secrets/fleet.key"`
	// Name is what the host is called in its fleet, where no other should have the name. Default: the name of the
	// machine.
	Name string `json:"name,omitempty" is:"host_name" example:"build-1"`
	// Labels are what others may choose the host by, at most 32 labels. Default: none.
	Labels map[string]string `json:"labels,omitempty" key:"label_name" is:"label" example:"{\"region\": \"eu\", \"gpu\": 1}"`
	// Share are the tools that known hosts may see and call, by the names that callers see. * stands for any
	// characters. Tools of other hosts are never shared on. Default: none.
	Share []string `json:"share,omitempty" is:"tools" example:"gpu.*"`
	// Mount are the tools of known hosts that become tools of this one. * stands for any characters. A tool of this
	// host's own keeps its name. Default: none.
	Mount []string `json:"mount,omitempty" is:"tools" example:"gpu.*"`
	// Prefix is put in front of the names of mounted tools. Default: nothing.
	Prefix string `json:"prefix,omitempty" is:"prefix" example:"far."`
	// Peers are other hosts that this one knows, by the names that you give them. Hosts that have this host's own key
	// are known without it.
	Peers map[string]Peer `json:"peers,omitempty" key:"peer_name"`
	// Rules are how the calls of mounted tools are placed. Of a tool, the first rule counts that matches its name.
	// Default: calls go to the newest version, on the host that has least to do.
	Rules []fleet.Rule `json:"rules,omitempty" example:"[{\"tools\": \"gpu.*\", \"labels\": {\"region\": \"eu\"}}]"`
	// Callers are what the callers of other hosts may do here, as under callers above: PEER/NAME is a caller of a host
	// under peers, by that host's word, PEER any other caller of it, and * those of all hosts that are not named. A
	// host with this host's own key goes by the name that it gives itself. A caller that is not named holds no
	// capability.
	//
	// See [NATS.Caller].
	Callers map[string]Caller `json:"callers,omitempty" key:"peer_caller" without:"uid,subject,names,discovery" example:"{\"partner\": {\"grants\": [\"fs:read\"], \"rate\": \"100/1m\"}}"`
	// MaxCalls is how many calls of each known host may be in progress here, 1 to 65536.
	MaxCalls int `json:"max_calls" minimum:"1" maximum:"65536" default:"1024" example:"64"`
	// Store is the directory in which the embedded server keeps durable calls. Default: nats in the user's state
	// directory if a rule has durable, else nothing is kept.
	Store string `json:"store,omitempty" is:"path" example:"nats"`
	// Queue is how durable calls are kept and run.
	Queue fleet.Queue `json:"queue"`
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

// Peer is another host.
//
// It is a [fleet.Peer], of which an empty list is another thing than none.
type Peer struct {
	// Key is the public half of its key, which toolhost fleet key prints there.
	Key string `json:"key,omitempty" is:"host_key" example:"UDXU4RCSJNZOIQHZNWXHXORDPRTGNJAHAHFRGZNEEJCPQTT2M7NLCNF4"`
	// Keys are further keys: the one that it has next, or those of a group of hosts, which may all do the same here. At
	// most 1024.
	Keys []string `json:"keys,omitempty" is:"host_key" example:"UDW7J5V7GVTYU3NLGZYPRPMUKLIXIIVWPPKQOCNEWOXNZHQ5LYEYRWML"`
	// Share are the tools that it may see and call. Default: as under share above.
	Share []string `json:"share,omitzero" is:"tools" example:"gpu.render | []"`
	// Mount are its tools that are mounted. Default: as under mount above.
	Mount []string `json:"mount,omitzero" is:"tools" example:"* | []"`
	// Admin says whether it may drain this host.
	Admin bool `json:"admin" example:"true"`
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
		if p.Key == "" && len(p.Keys) == 0 && !r.has(key+".key") {
			r.at(key, "print it there with toolhost fleet key, and write it under key", "the host has no key")
		}
		for i, k := range append([]string{p.Key}, p.Keys...) {
			at := key + ".key"
			if i > 0 {
				at = item(key+".keys", i-1)
			}
			switch {
			case k == "":
				continue
			case !nkeys.IsValidPublicUserKey(k):
				r.at(at, "print it there with toolhost fleet key", "it is not the public half of a host's key: a letter or digit is wrong")
			case keys[k] != "":
				r.at(at, "remove one of them", "%s has this key too", keys[k])
			}
			keys[k] = name
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
