package fleet

import (
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"math/rand/v2"
	"strings"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// dial connects to the server.
func (n *node) dial(c *Config) error {
	options := []nats.Option{
		nats.Name("toolhost " + c.Name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond), nats.ReconnectBufSize(-1), nats.Timeout(5 * time.Second),
		nats.IgnoreAuthErrorAbort(), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			level := hclog.Warn
			if aboutQueue(err) && !n.settings.Load().makesQueue() || refusedBy(err) && !errors.Is(err, nats.ErrPermissionViolation) {
				level = hclog.Debug // it only looks whether there is a queue; that the login is refused is told once
			}
			n.log.Log(level, "the NATS server reports an error", "error", err)
		}),
	}
	login := nats.Nkey(c.Key.Public(), c.Key.signNonce)
	if c.Credentials != "" {
		login = nats.UserCredentials(c.Credentials)
	}
	if c.TLS.CA != "" {
		options = append(options, nats.RootCAs(c.TLS.CA))
	}
	if c.TLS.Cert != "" {
		options = append(options, nats.ClientCert(c.TLS.Cert, c.TLS.Key))
	}
	if c.TLS != (TLS{}) {
		options = append(options, nats.Secure(&tls.Config{MinVersion: tls.VersionTLS12}))
	}
	var err error
	options = append(options, c.Options...)
	n.nc, err = nats.Connect(c.URL, append(options, login)...)
	if errors.Is(err, nats.ErrNkeysNotSupported) { // the server lets in whoever comes
		login = nil
		n.nc, err = nats.Connect(c.URL, options...)
	}
	if err != nil && c.KeepTrying && !refusedBy(err) {
		why := withoutUsers(err.Error())
		n.lostBy.Store(why)
		n.log.Warn("no NATS server is reached, and it is tried again and again", "error", why)
		n.nc, err = nats.Connect(c.URL, append(options, login, nats.RetryOnFailedConnect(true))...)
	}
	if err == nil {
		return nil
	}
	e := tool.Errorf(tool.CodeUnavailable,
		"%s", withoutUsers(fmt.Sprintf("no NATS server is reached at %s: %v", c.URL, err))).
		Because(err).Fix(remedy.NATS.String())
	if refusedBy(err) {
		e.Code, e.Message = tool.CodePermissionDenied, withoutUsers(fmt.Sprintf("the NATS server at %s does not let this host in: %v", c.URL, err))
		e.OperatorHint = "give it nats.credentials, or let the key " + c.Key.Public() + " log in there"
	}
	return e
}

// users finds the users in URLs, with their passwords or tokens.
var users = lazy.Regexp(`//[^/\s,]*@`)

// withoutUsers returns a text with URLs without what is secret in them.
func withoutUsers(text string) string { return users().ReplaceAllString(text, "//(hidden)@") }

// refusedBy reports whether an error is the server's no to whoever logs in.
func refusedBy(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrAccountAuthExpired) || errors.Is(err, nats.ErrPermissionViolation)
}

// offer makes the host's micro service: others ask it whether it is there, and for links, which open takes; hear takes what those
// say that ask who is there.
func (f *Fleet) offer(hear func([]byte), open func(data []byte, respond func([]byte) error)) error {
	c := f.settings.Load()
	about := map[string]string{"host": c.Name, "key": c.Key.Public(), "instance": f.self.ID()}
	for k, v := range c.Labels {
		about["label."+k] = v
	}
	var err error
	f.service, err = micro.AddService(f.nc, micro.Config{
		Name: "toolhost", Version: host.Version, Description: "A host of tools", Metadata: about, QueueGroupDisabled: true,
		StatsHandler: func(*micro.Endpoint) any { return f.load() },
	})
	endpoint := func(name, subject string, handle micro.HandlerFunc) {
		if err == nil {
			err = f.service.AddEndpoint(name, handle, micro.WithEndpointSubject(subject))
		}
	}
	tell := func(r micro.Request) {
		if len(r.Data()) > 0 {
			hear(r.Data())
		}
		if data, err := f.announcement(); err == nil && r.Reply() != "" {
			_ = r.Respond(data)
		}
	}
	endpoint("ping", instanceSubject+f.self.ID()+".ping", tell)
	endpoint("open", instanceSubject+f.self.ID()+".open", func(r micro.Request) {
		open(r.Data(), func(b []byte) error { return r.Respond(b) })
	})
	endpoint("who", whoSubject, tell)
	return err
}

// listen subscribes to what others send.
func (f *Fleet) listen(ctx context.Context) error {
	err := f.offer(func(data []byte) { f.hear(data) }, f.opened)
	if err == nil {
		f.background(f.hearAll)
		_, err = f.hearKnown()
	}
	if err == nil && f.nc.IsConnected() {
		f.sayHello() // which shows whether the host may
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		if err = f.nc.FlushWithContext(ctx); err == nil {
			err = f.denied()
		}
	}
	return cannotJoin(err)
}

// denied returns the server's no to a subject of the fleet; nil: it has said none on this connection.
func (n *node) denied() error {
	if err := n.nc.LastError(); errors.Is(err, nats.ErrPermissionViolation) && !aboutQueue(err) {
		return err
	}
	return nil
}

// aboutQueue reports whether an error is the server's no to JetStream, which only durable calls need. The server
// says it in words only.
func aboutQueue(err error) bool {
	return errors.Is(err, nats.ErrPermissionViolation) && (strings.Contains(err.Error(), `"$JS.`) || strings.Contains(err.Error(), `"$KV.`))
}

// cannotJoin returns the error of Join for what the server has said.
func cannotJoin(err error) error {
	if err == nil {
		return nil
	}
	e := tool.Errorf(tool.CodeUnavailable, "the fleet cannot be joined: %w", err)
	if refusedBy(err) {
		e.Code, e.OperatorHint = tool.CodePermissionDenied, "its user of NATS needs toolhost.v1.> and _INBOX.>; see docs/fleet.md"
	}
	return e
}

// followConnection takes what happens to the connection.
func (f *Fleet) followConnection(states <-chan nats.Status) {
	for {
		select {
		case state := <-states:
			if state != nats.CONNECTED {
				f.directory.disconnected()
				f.inbound.disconnected()
				f.bell.ring()
				continue
			}
			for !f.nc.IsConnected() { // it is about to be
				if f.nc.IsClosed() || f.nc.IsReconnecting() || !pause(f.life, time.Millisecond) {
					break
				}
			}
			f.reconnected()
		case <-f.life.Done():
			return
		}
	}
}

// errConnection is the cause of errors of calls whose host may be well.
var errConnection = errors.New("the connection to the NATS server is lost")

// lostSince reports whether the connection was lost since a link was made, when it had been made again so
// many times.
func (n *node) lostSince(reconnects uint64) bool {
	return !n.nc.IsConnected() || n.nc.Stats().Reconnects != reconnects
}

// reconnected says that the host is there, and asks who else is.
func (f *Fleet) reconnected() {
	f.log.Info("there is a connection to the NATS server", "url", f.nc.ConnectedUrlRedacted())
	f.lostBy.Store("")
	f.announces.send()
	f.openSoon.send()
	f.background(func() {
		if pause(f.life, rand.N(f.every()-interval+1)) { //nolint:gosec // not a secret; many may be back at once
			f.meet(f.life)
		}
	})
	f.directory.mu.Lock()
	for _, m := range f.members {
		m.readSoon()
	}
	f.directory.mu.Unlock()
	f.bell.ring()
}
