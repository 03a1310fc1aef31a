package fleet

import (
	"path"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/durable"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Config is what a host does in a fleet. By default it shares nothing and mounts nothing.
//
// A pattern matches names of tools: * stands for any characters, ? for one, as in [path.Match].
type Config struct {
	// URL is where NATS servers are, several separated by commas. Required, unless Conn is set.
	URL string
	// Conn is a connection to use in place of URL, Credentials, TLS and Options. [Fleet.Close]
	// leaves it open. Default: nil.
	Conn *nats.Conn
	// Credentials is a file with the JWT and the seed of a user of the NATS server. Default: empty,
	// the host logs in with its Key.
	Credentials string
	// TLS names files for the connection. Default: those of the system.
	TLS TLS
	// KeepTrying joins when a server is reached, if none is now. Default: false.
	KeepTrying bool
	// Options are further ones of the connection.
	Options []nats.Option

	// Key is who the host is. Required; see [KeyFile].
	Key Key
	// Name is what the host is called: [A-Za-z0-9][A-Za-z0-9_.-]{0,63}. Required. No other host should have it.
	Name string
	// Version is what others are told that runs here. Default: host.Version.
	Version string
	// Labels are told to others, who choose hosts by them: at most 32, of at most 64 bytes each side.
	Labels map[string]string

	// Peers are the hosts that this one knows, by the name that it has for them. Those that have
	// its own Key are known too. Default: none.
	Peers map[string]Peer
	// Share are patterns of the tools that known hosts may see and call. Default: none.
	Share []string
	// Mount are patterns of the tools of known hosts that become tools of this one. Default: none.
	Mount []string
	// Prefix is put in front of the names of mounted tools. Default: empty.
	Prefix string
	// Rules say how the calls of mounted tools are placed. Of a tool, the first counts whose pattern
	// matches its name with the prefix. Default: none, and each has its defaults.
	Rules []Rule
	// Accept returns what the session has in which the calls of a caller of another host run here,
	// such as grants and an approver. Its error refuses the calls. Default: no grants and no
	// approver.
	Accept func(Caller) ([]host.SessionOption, error)
	// MaxCalls is how many calls of each known host may be in progress here. Default: 0, 1,024.
	MaxCalls int

	// Queue is how durable calls are kept and run here.
	Queue Queue

	// Log receives what operators should know. Default: nothing does.
	Log hclog.Logger
	// Now is the clock, which nothing is decided by. Default: time.Now.
	Now func() time.Time
}

// TLS names the files of a connection's certificates. Empty: not used.
type TLS struct {
	// CA is the file of the authorities by which the server's certificate is checked.
	CA string `json:"ca,omitempty" is:"path" example:"tls/ca.crt"`
	// Cert is the file of the host's own certificate. Needs key.
	Cert string `json:"cert,omitempty" is:"path" example:"tls/host.crt"`
	// Key is the file of its private key.
	Key string `json:"key,omitempty" is:"path" example:"tls/host.key"`
}

// Peer is another host that is known.
type Peer struct {
	// Key is the public half of its [Key]. It or Keys is required.
	Key string `json:"key,omitempty"`
	// Keys are further ones: that which the host has next, or those of a group of hosts, which may all do the same here.
	// At most 1,024.
	Keys []string `json:"keys,omitempty"`
	// Share are patterns of the tools that it may see and call, in place of [Config.Share].
	// Default: nil, those.
	Share []string `json:"share,omitempty"`
	// Mount are patterns of its tools that are mounted, in place of [Config.Mount]. Default: nil,
	// those.
	Mount []string `json:"mount,omitempty"`
	// Admin lets it drain this host, and see the fleet as this host does. Default: false.
	Admin bool `json:"admin,omitempty"`
}

// maxKeys bounds the keys of a peer.
const maxKeys = 1024

// known returns the keys of the peer; of one that has none, an empty one.
func (p *Peer) known() []string {
	if p.Key == "" && len(p.Keys) > 0 {
		return p.Keys
	}
	return append([]string{p.Key}, p.Keys...)
}

// Caller is who calls from another host, whose Peer is its name in [Config.Peers].
type Caller = durable.Caller

// Queue is how durable calls are kept and run. Replicas, Bytes and Keep are those of all hosts: what is set here is given to
// the queue that is there when this host starts, or its configuration is loaded again.
type Queue struct {
	// Replicas is on how many servers of a cluster durable calls are kept, 1 to 5. Default: 3 in a cluster of three or
	// more, else 1.
	Replicas int `json:"replicas,omitempty" minimum:"1" maximum:"5" example:"3"`
	// Bytes is how much the queue, and how much the results may take, 1MiB to 1024GiB; the records of calls may take half
	// of it. Default: 256MiB.
	Bytes int64 `json:"bytes,omitempty" is:"size" minimum:"1MiB" maximum:"1024GiB" example:"1GiB"`
	// Keep is how long calls and their results are remembered, 1m to 8760h. Default: 168h.
	Keep time.Duration `json:"keep,omitempty" minimum:"1m" maximum:"8760h" example:"720h"`
	// Slots is how many calls of the queue run here at a time, 1 to 1024, from the next start on. Default: 16.
	Slots int `json:"slots,omitempty" minimum:"1" maximum:"1024" example:"4"`
	// Lapse is how long after the last sign of life of the host that runs a durable call it counts as dead, 300ms to 1h,
	// from the next start on. Default: 10s.
	Lapse time.Duration `json:"lapse,omitempty" minimum:"300ms" maximum:"1h" example:"30s"`
	// Make has the host make the queue on the server, for others that may not. Default: false, and hosts make it that
	// have a rule which is durable, or set replicas, bytes or keep.
	Make bool `json:"-"`
}

// Rule says how the calls of some mounted tools are placed.
type Rule struct {
	// Tools are the tools, by the names that they have here. * stands for any characters.
	Tools string `json:"tools" is:"tools" example:"gpu.*"`
	// Version is which one is used if hosts share different definitions of a name: newest, a version of the plugin, or
	// a digest.
	//
	// A digest is "sha256:" and its first digits, at least 8. Definitions that differ only in texts are different only
	// to a rule that names one of them.
	Version string `json:"version,omitempty" is:"version" default:"newest" example:"1.4.0 | sha256:0123abcd"`
	// Hosts is how many hosts that take calls have to have the newest version before it is used. As long as none has
	// so many, the one is used that most have, of equals the oldest.
	//
	// 0 is 1.
	Hosts int `json:"hosts,omitempty" minimum:"1" maximum:"8192" default:"1" example:"2"`
	// Labels are labels that a host must have. Default: none.
	Labels map[string]string `json:"labels,omitempty" key:"label_name" is:"label" example:"{\"region\": \"eu\"}"`
	// Avoid is labels of hosts that are used only if there is no other. Default: none.
	Avoid map[string]string `json:"avoid,omitempty" key:"label_name" is:"label" example:"{\"spot\": \"yes\"}"`
	// Near is the name of a label: hosts that have the value of it that this host has come first, and others if those are
	// full, ejected or gone. Default: empty, all are alike.
	Near string `json:"near,omitempty" example:"region"`
	// Durable has calls wait in a queue of NATS JetStream, where they outlive their caller, see toolhost jobs:
	// at-least-once runs a call again if its host is lost, at-most-once does not. A host's own tools need a rule
	// without a pattern. On a host that runs them, at-least-once says that a tool may be run again though it
	// does not say that it is idempotent. labels and avoid have no effect. Default: calls wait for their host.
	Durable durable.Mode `json:"durable,omitempty" enum:"at-least-once,at-most-once" example:"at-most-once"`
}

// newestVersion is the [Rule.Version] that is the default.
const newestVersion = "newest"

const (
	maxLabels      = 32
	maxLabelLength = 64 // bytes
)

// Check reports the first mistake; nil: there is none.
//
// # Errors
//
// [tool.CodeInvalidArguments].
func (c *Config) Check() error {
	bad := func(format string, args ...any) error {
		return tool.Errorf(tool.CodeInvalidArguments, format, args...).Fix("see fleet.Config, or nats in the configuration")
	}
	switch {
	case c.URL == "" && c.Conn == nil:
		return bad("the fleet has no NATS server")
	case c.Key.public == "":
		return bad("the host has no key")
	case !ident.Valid(c.Name):
		return bad("%.70q is not a name of a host: use 1 to 64 letters, digits, _, . and -, first a letter or digit", c.Name)
	case len(c.Labels) > maxLabels:
		return bad("the host has %d labels, more than %d", len(c.Labels), maxLabels)
	case min(c.Queue.Replicas, c.Queue.Slots) < 0 || c.Queue.Bytes < 0 || c.Queue.Replicas > 5,
		c.Queue.Lapse != 0 && c.Queue.Lapse < 300*time.Millisecond, c.Queue.Keep != 0 && c.Queue.Keep < time.Minute:
		return bad("the queue of durable calls has a value that is too small or too large")
	case (c.TLS.Cert == "") != (c.TLS.Key == ""):
		return bad("a certificate for NATS needs its key, and a key its certificate")
	}
	for k, v := range c.Labels {
		if k == "" || len(k) > maxLabelLength || len(v) > maxLabelLength {
			return bad("the label %.70q has an empty side or one longer than %d bytes", k+"="+v, maxLabelLength)
		}
	}
	patterns := append(append([]string{}, c.Share...), c.Mount...)
	keys := map[string]string{}
	for name, p := range c.Peers {
		switch {
		case !ident.Valid(name):
			return bad("%.70q is not a name of a host", name)
		case len(p.Keys) > maxKeys:
			return bad("host %s has %d keys, more than %d", name, len(p.Keys), maxKeys)
		}
		for _, key := range p.known() {
			switch {
			case !validKey(key):
				return bad("a key of host %s is not the public half of an NKey of the user type: it begins with U, and %s", name, remedy.FleetKey)
			case keys[key] != "":
				return bad("hosts %s and %s have the same key", keys[key], name)
			}
			keys[key] = name
		}
		patterns = append(append(patterns, p.Share...), p.Mount...)
	}
	for _, r := range c.Rules {
		if r.Tools == "" {
			return bad("a rule names no tools")
		}
		if r.Durable != "" && r.Durable != durable.AtLeastOnce && r.Durable != durable.AtMostOnce {
			return bad("the rule of %s is durable %.40q: use %s or %s", r.Tools, r.Durable, durable.AtLeastOnce, durable.AtMostOnce)
		}
		if r.Hosts < 0 {
			return bad("the rule of %s wants %d hosts", r.Tools, r.Hosts)
		}
		patterns = append(patterns, r.Tools)
	}
	for _, p := range patterns {
		if _, err := path.Match(p, ""); err != nil {
			return bad("%.70q is not a pattern: %w", p, err)
		}
	}
	if c.Prefix != "" && (tool.Definition{Name: c.Prefix, Description: "-"}).Check() != nil {
		return bad("%.70q is not a prefix of tools' names", c.Prefix)
	}
	return nil
}

// ruleOf returns the rule of a tool, by the name that it has here.
func (c *Config) ruleOf(name string) Rule {
	for _, r := range c.Rules {
		if durable.Matches([]string{r.Tools}, name) {
			return r
		}
	}
	return Rule{}
}
