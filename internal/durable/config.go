package durable

import (
	"cmp"
	"encoding/json"
	"path"
	"slices"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Config is what a host does with durable calls. By default it runs none of others, and submits its
// own for tools that it has itself.
type Config struct {
	// Conn is the connection to the NATS server, whose account has JetStream. [Calls.Close] leaves
	// it open. Required.
	Conn *nats.Conn
	// Host has the tools, and runs the calls. Required.
	Host *host.Host
	// Key signs what the host stores, such as a fleet.Key. Calls belong to it: a host that starts
	// again with its key finds its calls. Required.
	Key Key
	// Name is what the host is called, for people. Required.
	Name string

	// Peers returns the hosts that are known, by the public halves of their keys; the host's own
	// key is not among them by itself. It is asked again for each call. Default: nil, none.
	Peers func() map[string]Peer
	// Accept returns what the session has in which a call of a caller of another host runs here,
	// such as grants and an approver. Its error refuses the call. Default: no grants and no
	// approver.
	Accept func(Caller) ([]host.SessionOption, error)
	// Own reports whether calls of a tool of this host may wait in the queue, see [Request.Own]. Default: nil, of none.
	Own func(tool string) bool
	// Find returns the tool that a name of [Request.Tool] means. Default: nil, the host's own.
	Find func(name string) (Target, error)
	// Repeatable reports whether the operator says of a tool that it can run [AtLeastOnce], because
	// it looks at the idempotency key. Default: nil, only those tools can that say they are
	// idempotent.
	Repeatable func(tool string) bool
	// Track is called before a call of the queue runs here, and what it returns when it has ended.
	// Default: nil, it is not told.
	Track func() (ended func())
	// Existing has [Open] use the queue and the bucket only if they are there: a host that only runs
	// calls of others makes none on a server where none are submitted. Default: false, it makes them.
	Existing bool

	// Slots is how many calls run here at a time; no more are fetched. Default: 0, 16.
	Slots int
	// Attempts is how often workers begin a call, until it fails. Default: 0, 5.
	Attempts int
	// Lapse is how long after a worker's last sign of life it counts as dead, at least 300 ms.
	// Default: 0, 10 s.
	Lapse time.Duration

	// Queue is how many calls may wait or run, if this host makes the queue. Default: 0, 10,000.
	Queue int
	Storage
	// Fetched is how long a result is kept at least that its caller has fetched. Default: 0, 1 h.
	Fetched time.Duration

	// Log receives what operators should know. Default: nothing does.
	Log hclog.Logger
	// Now is the clock of the times that people see; nothing is decided by it. Default: time.Now.
	Now func() time.Time

	said Storage // without defaults
}

// Storage is how the queue, the records and the results are kept. What is set here is given to those that are there, too;
// what is not set stays as it is there.
type Storage struct {
	// Replicas is on how many servers of a cluster they are. Default: 0, 3 in a cluster that has so many, else 1.
	Replicas int
	// Bytes is how much the queue, and how much the results may take; the records may take half of it.
	// Default: 0, 256 MiB.
	Bytes int64
	// Keep is how long a call is remembered. Default: 0, 7 days.
	Keep time.Duration
}

// Key is the key of a host: an NKey of the user type.
type Key interface {
	// Public returns the public half.
	Public() string
	// Sign signs a message.
	Sign(message []byte) ([]byte, error)
}

// Peer is a host that is known. A pattern matches names of tools, as in [path.Match].
type Peer struct {
	// Name is what this host calls it; empty: it has this host's own key.
	Name string
	// Share are patterns of the tools that it may have called here. Default: none.
	Share []string
	// Mount are patterns of the tools whose results are accepted from it. Default: none.
	Mount []string
}

// Caller is who calls from another host.
type Caller struct {
	// Peer is the name that this host has for it; empty: it has this host's own key, and no name.
	Peer string
	// Host is the name that it gives itself.
	Host string
	// Name is its caller, by its own word; empty: the caller has no name.
	Name string
}

// Account is who answers for the caller: its host.
func (c Caller) Account() string { return cmp.Or(c.Peer, c.Host) }

// String returns the account, and the caller's name behind a slash, if it has one.
func (c Caller) String() string {
	if c.Name == "" {
		return c.Account()
	}
	return c.Account() + "/" + c.Name
}

// Target is a tool that can be called.
type Target struct {
	// Tool is the name that it has where it runs.
	Tool string
	// Digest is that of its definition; see [Digest].
	Digest string
	// Repeatable says that it can run [AtLeastOnce].
	Repeatable bool
}

// Digest returns the SHA-256 of a definition without its alias, in hexadecimal digits; empty: it
// has a schema that is not JSON, which no registry has.
func Digest(d tool.Definition) string {
	digest, _ := Encode(d)
	return digest
}

// Encode returns the [Digest] of a definition, and the JSON that it is the digest of.
func Encode(d tool.Definition) (digest string, text json.RawMessage) {
	d.Alias = ""
	text, err := json.Marshal(d)
	if err != nil {
		return "", nil
	}
	return sumOf(text), text
}

const (
	defaultSlots    = 16
	defaultAttempts = 5
	defaultLapse    = 10 * time.Second
	minLapse        = 300 * time.Millisecond
	defaultQueue    = 10_000
	defaultBytes    = 256 << 20
	defaultKeep     = 7 * 24 * time.Hour
	minKeep         = time.Minute
	defaultFetched  = time.Hour
)

// filled returns it with defaults.
func (s Storage) filled(nc *nats.Conn) Storage {
	s.Bytes, s.Keep = cmp.Or(s.Bytes, defaultBytes), cmp.Or(s.Keep, defaultKeep)
	if s.Replicas == 0 {
		if s.Replicas = 1; nc != nil && nc.ConnectedClusterName() != "" {
			s.Replicas = 3
		}
	}
	return s
}

// check sets the defaults and reports the first mistake.
func (c *Config) check() error {
	c.Slots = cmp.Or(c.Slots, defaultSlots)
	c.Attempts = cmp.Or(c.Attempts, defaultAttempts)
	c.Lapse = cmp.Or(c.Lapse, defaultLapse)
	c.Queue = cmp.Or(c.Queue, defaultQueue)
	c.Fetched = cmp.Or(c.Fetched, defaultFetched)
	c.said, c.Storage = c.Storage, c.filled(c.Conn)
	if c.Log == nil {
		c.Log = hclog.NewNullLogger()
	}
	if c.Now == nil {
		c.Now = time.Now
	}
	if c.Peers == nil {
		c.Peers = func() map[string]Peer { return nil }
	}
	if c.Track == nil {
		c.Track = func() func() { return func() {} }
	}
	if c.Own == nil {
		c.Own = func(string) bool { return false }
	}
	if c.Find == nil {
		c.Find = c.own
	}
	bad := func(format string, args ...any) error { return tool.Errorf(tool.CodeInvalidArguments, format, args...) }
	switch {
	case c.Conn == nil || c.Host == nil || c.Key == nil || c.Key.Public() == "":
		return bad("durable calls need a connection, a host and its key")
	case c.Name == "" || len(c.Name) > maxName:
		return bad("the name of a host has 1 to %d bytes", maxName)
	case min(c.Slots, c.Attempts, c.Queue, c.Replicas) < 0 || c.Bytes < 0:
		return bad("slots, attempts, queue, bytes and replicas of durable calls are not negative")
	case c.Lapse < minLapse || c.Keep < minKeep:
		return bad("a worker counts as dead after at least %v, and calls are kept for at least %v", minLapse, minKeep)
	}
	return nil
}

// own finds a tool of the host itself.
func (c *Config) own(name string) (Target, error) {
	t, ok := c.Host.Get(name)
	if !ok {
		return Target{}, tool.Errorf(tool.CodeNotFound, "Unknown tool: %s", name).
			Of(name, "").At(callstage.Resolve).NeverSent()
	}
	return Target{Tool: t.Name, Digest: Digest(t.Definition), Repeatable: c.repeatable(&t)}, nil
}

func (c *Config) repeatable(t *host.Tool) bool {
	return t.Idempotent || c.Repeatable != nil && c.Repeatable(t.Name)
}

// Matches reports whether one of the patterns matches a name.
func Matches(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		ok, err := path.Match(p, name)
		return ok && err == nil
	})
}
