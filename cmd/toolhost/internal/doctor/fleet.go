package doctor

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"net/url"
	"strings"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/durable"
)

const (
	natsTimeout = 2 * time.Second // for a connection to a server
	nearlyFull  = 0.8             // of what durable calls may take
	largeSkew   = time.Minute     // between the clocks of two hosts: what they say of times misleads
)

// checkFleet examines the host's key, and asks the daemon for its fleet; if there is no daemon,
// whether the servers can be connected to.
func checkFleet(ctx context.Context, p *patient) {
	n := p.settings.Config.NATS
	if path, err := session.FleetKeyPath(n); err == nil && paths.Exists(path) {
		if key, err := fleet.KeyFile(path); err != nil {
			p.error(err, "mend "+path)
		} else {
			p.ok("the key of this host is " + key.Public())
		}
	}
	if p.daemon != nil {
		checkHosts(ctx, p, p.daemon)
		return
	}
	if n.URL == "" {
		return
	}
	for one := range strings.SplitSeq(string(n.URL), ",") {
		address := natsAddress(one)
		d := net.Dialer{Timeout: natsTimeout}
		conn, err := d.DialContext(ctx, "tcp", address)
		if err != nil {
			p.failed("the NATS server is not reached: "+err.Error(), "start it, or mend nats.url")
			continue
		}
		_ = conn.Close() // it is only tried
		p.ok("a NATS server can be connected to on " + address)
	}
}

// natsAddress returns the address of a server, without what is secret.
func natsAddress(text string) string {
	u, err := url.Parse(text)
	if err != nil {
		return ""
	}
	port := map[string]string{"ws": "80", "wss": "443"}[u.Scheme]
	if port == "" {
		port = "4222"
	}
	if own := u.Port(); own != "" {
		port = own
	}
	return net.JoinHostPort(u.Hostname(), port)
}

// checkHosts looks at the fleet as the daemon sees it.
func checkHosts(ctx context.Context, p *patient, c *control.Client) {
	f := c.State().Fleet
	if f == nil {
		p.ok("the daemon is in no fleet")
		return
	}
	if !f.Reached() {
		p.failed(fmt.Sprintf("the daemon is not in its fleet on %s: %s", f.Server, f.Reason), "see its log")
	}
	switch q := f.Queue; {
	case q != nil && q.Open:
		for i, l := range []durable.Level{q.State, q.Results} {
			if l.Fill() >= nearlyFull {
				p.warning(fmt.Sprintf("the %s of durable calls take %d of %d MiB: calls fail when they are full", []string{"records", "results"}[i], l.Bytes>>20, l.Max>>20),
					"raise nats.queue.bytes, or lower nats.queue.keep; if no call of this fleet took so much, another program writes there")
			}
		}
		for _, d := range q.Differs {
			p.warning("durable calls are kept in another way than the configuration says: "+d, "give all hosts the same nats.queue, and start one again")
		}
		p.ok(fmt.Sprintf("durable calls can be made: %d are in the queue", q.Queued))
	case q != nil && f.Reached():
		p.failed("tools whose rule is durable cannot be called: "+q.Reason, "give the NATS server JetStream, or remove durable under nats.rules")
	}
	hosts, err := c.FleetHosts(ctx)
	if err != nil {
		p.error(err, "see toolhost fleet")
		return
	}
	for _, h := range hosts {
		switch {
		case h.Self:
		case h.Reason != "", h.State == fleet.HostLate:
			p.warning(fmt.Sprintf("host %s is %s: %s", h.Name, h.State, cmp.Or(h.Reason, "nothing was heard of it for longer than usual")), "see toolhost fleet")
		case h.Skew.Abs() > largeSkew:
			p.warning(fmt.Sprintf("the clocks of this host and of %s are %v apart", h.Name, h.Skew.Abs().Round(time.Second)),
				"set them by NTP: nothing is decided by them, but the records of the two do not fit")
		}
	}
	p.ok(fmt.Sprintf("%s is in a fleet with %s, and mounts %s", f.Name, count(f.Hosts, "other host"), count(f.Tools, "tool")))
}
