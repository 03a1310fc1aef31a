// Package fleet joins hosts over NATS: what one shares, others mount, and calls run through the
// chain of both. Begin with [Join]. docs/fleet.md says what is promised, and what happens when
// something fails.
package fleet

import (
	"cmp"
	"context"
	"crypto/tls"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"
	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/micro"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet/internal/link"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Owner is the name under which the tools of other hosts are attached.
const Owner = "fleet"

// Fleet is a host's part in a fleet. It is the provider of the tools that other hosts share.
type Fleet struct {
	host *host.Host
	nc   *nats.Conn
	own  bool // nc is to be closed
	self *link.Instance
	log  hclog.Logger
	now  func() time.Time

	life        context.Context
	end         context.CancelFunc
	running     sync.WaitGroup
	hostChanges <-chan struct{}
	changes     chan struct{}
	service     micro.Service
	closing     sync.Once

	settings  atomic.Pointer[configured]
	catalogue atomic.Pointer[catalogue]
	seq       atomic.Uint64
	draining  atomic.Bool
	leaving   atomic.Bool
	serving   atomic.Int32  // calls of other hosts
	strange   atomic.Uint64 // messages that were not understood, or not of a known host
	announces chan struct{}

	mu               sync.Mutex
	closed           bool
	changed          chan struct{} // closed and replaced when hosts, lines or the connection change
	members          map[string]*member
	strangers        map[string]*stranger
	strangersSince   time.Time
	strangersChecked int
	offers           map[string][]*offer // by the name here, sorted by host
	tools            map[string]*mounted
	defs             map[string]*definition // by digest
	shadowed         map[string]bool        // mounted tools whose name the host itself uses
	telling          bool                   // the registry is about to be told of a change
	bonds            map[bondKey]*member
	visited          map[string]map[*member]bool // by session
	visits           map[string]*visit           // by instance
	accounts         map[string]*account         // by key
}

// configured is a configuration in use.
type configured struct {
	Config

	epoch uint64
	names map[string]string // of peers, by key
}

func configure(c Config, epoch uint64) *configured {
	out := &configured{Config: c, epoch: epoch, names: map[string]string{}}
	for name, p := range c.Peers {
		out.names[p.Key] = name
	}
	return out
}

// peerOf returns the host that a key is that of.
func (c *configured) peerOf(key string) (name string, p Peer, known bool) {
	if name, known = c.names[key]; known {
		return name, c.Peers[name], true
	}
	if key == c.Key.public {
		return "", Peer{Key: key, Admin: true}, true
	}
	return "", Peer{}, false
}

// Join connects a host to its fleet: it shares and mounts from then on. The tools of the hosts that
// answer within 0.2 s are mounted when Join returns.
//
// # Errors
//
// [tool.CodeInvalidArguments] for a [Config] that cannot be used; [tool.CodePermissionDenied] if the
// server does not let the host in, or not use its subjects; [tool.CodeUnavailable] if no server is reached and
// [Config.KeepTrying] is false; [tool.CodeAlreadyExists] if the host is in a fleet; the context's end.
func Join(ctx context.Context, h *host.Host, c Config) (*Fleet, error) {
	if err := c.Check(); err != nil {
		return nil, err
	}
	self, err := link.NewInstance()
	if err != nil {
		return nil, err
	}
	f := &Fleet{
		host: h, self: self, log: c.Log, now: c.Now, changes: make(chan struct{}, 1), announces: make(chan struct{}, 1),
		changed: make(chan struct{}), members: map[string]*member{}, strangers: map[string]*stranger{},
		offers: map[string][]*offer{}, tools: map[string]*mounted{}, defs: map[string]*definition{}, bonds: map[bondKey]*member{},
		visited: map[string]map[*member]bool{}, visits: map[string]*visit{}, accounts: map[string]*account{},
	}
	if f.log == nil {
		f.log = hclog.NewNullLogger()
	}
	if f.now == nil {
		f.now = time.Now
	}
	f.settings.Store(configure(c, 1))
	f.life, f.end = context.WithCancel(context.Background())
	f.catalogue.Store(&catalogue{revision: 1})
	if f.nc = c.Conn; f.nc == nil {
		f.own = true
		if err = f.dial(&c); err != nil {
			f.end()
			return nil, err
		}
	}
	f.hostChanges = h.Changes()
	if c.sharesAny() {
		f.catalogue.Store(gather(h, 2, nil))
	}
	err = f.listen(ctx)
	if err == nil {
		states := f.nc.StatusChanged(nats.CONNECTED, nats.RECONNECTING, nats.CLOSED)
		f.background(func() {
			defer f.nc.RemoveStatusListener(states)
			f.followConnection(states)
		})
		f.background(f.followHost)
		f.background(f.announce)
		f.meet(ctx)
		_, err = h.Attach(ctx, Owner, f) // though nothing is mounted: Reconfigure may change that
	}
	if err != nil {
		_ = f.Close(context.WithoutCancel(ctx))
		return nil, err
	}
	return f, nil
}

// dial connects to the server.
func (f *Fleet) dial(c *Config) error {
	options := []nats.Option{
		nats.Name("toolhost " + c.Name), nats.MaxReconnects(-1), nats.ReconnectWait(250 * time.Millisecond),
		nats.ReconnectJitter(100*time.Millisecond, 100*time.Millisecond), nats.ReconnectBufSize(-1), nats.Timeout(5 * time.Second),
		nats.IgnoreAuthErrorAbort(), nats.PingInterval(10 * time.Second), nats.MaxPingsOutstanding(2),
		nats.ErrorHandler(func(_ *nats.Conn, _ *nats.Subscription, err error) {
			f.log.Warn("the NATS server reports an error", "error", err)
		}),
	}
	login := nats.Nkey(c.Key.Public(), c.Key.Sign)
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
	f.nc, err = nats.Connect(c.URL, append(options, login)...)
	if errors.Is(err, nats.ErrNkeysNotSupported) { // the server lets in whoever comes
		login = nil
		f.nc, err = nats.Connect(c.URL, options...)
	}
	if err != nil && c.KeepTrying && !refusedBy(err) {
		f.nc, err = nats.Connect(c.URL, append(options, login, nats.RetryOnFailedConnect(true))...)
	}
	if err == nil {
		return nil
	}
	e := &tool.Error{
		Code: tool.CodeUnavailable, Message: fmt.Sprintf("no NATS server is reached at %s: %v", c.URL, err), Err: err,
		OperatorHint: "start one, or look at nats.url; toolhost serve --nats embedded starts one for this machine",
	}
	if refusedBy(err) {
		e.Code, e.Message = tool.CodePermissionDenied, fmt.Sprintf("the NATS server at %s does not let this host in: %v", c.URL, err)
		e.OperatorHint = "give it nats.credentials, or let the key " + c.Key.Public() + " log in there"
	}
	return e
}

// refusedBy reports whether an error is the server's no to whoever logs in.
func refusedBy(err error) bool {
	return errors.Is(err, nats.ErrAuthorization) || errors.Is(err, nats.ErrAuthExpired) || errors.Is(err, nats.ErrAuthRevoked) ||
		errors.Is(err, nats.ErrAccountAuthExpired) || errors.Is(err, nats.ErrPermissionViolation)
}

// listen subscribes to what others send.
func (f *Fleet) listen(ctx context.Context) error {
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
	subject := instanceSubject + f.self.ID()
	endpoints := []struct {
		name, subject string
		handle        micro.HandlerFunc
	}{
		{"ping", subject + ".ping", func(r micro.Request) { f.tell(r.Respond) }},
		{"open", subject + ".open", func(r micro.Request) {
			f.opened(r.Data(), func(b []byte) error { return r.Respond(b) })
		}},
		{"who", whoSubject, func(r micro.Request) { f.tell(r.Respond) }},
	}
	for _, e := range endpoints {
		if err == nil {
			err = f.service.AddEndpoint(e.name, e.handle, micro.WithEndpointSubject(e.subject))
		}
	}
	if err == nil {
		_, err = f.nc.Subscribe(helloSubject, func(m *nats.Msg) { f.hear(m.Data) })
	}
	if err == nil && f.nc.IsConnected() {
		ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
		defer cancel()
		err = f.nc.FlushWithContext(ctx)
		if err == nil && errors.Is(f.nc.LastError(), nats.ErrPermissionViolation) {
			err = f.nc.LastError()
		}
	}
	if err == nil {
		return nil
	}
	e := &tool.Error{Code: tool.CodeUnavailable, Message: "the fleet cannot be joined: " + err.Error(), Err: err}
	if refusedBy(err) {
		e.Code, e.OperatorHint = tool.CodePermissionDenied, "its user of NATS needs toolhost.v1.> and _INBOX.>; see docs/fleet.md"
	}
	return e
}

// tell answers with a fresh announcement.
func (f *Fleet) tell(respond func([]byte, ...micro.RespondOpt) error) {
	if data, err := f.announcement(f.leaving.Load()); err == nil {
		_ = respond(data)
	}
}

// announcement returns a new one, signed.
func (f *Fleet) announcement(leaving bool) ([]byte, error) {
	c := f.settings.Load()
	a := announcement{
		Protocol: spoken, Name: c.Name, Key: c.Key.Public(), Instance: f.self.Public(), Seq: f.seq.Add(1),
		Version: cmp.Or(c.Version, host.Version), Labels: c.Labels, Draining: f.draining.Load(), Leaving: leaving,
		Revision: f.revision(), Load: f.load(), Time: f.now(),
	}
	return a.sign(c.Key)
}

func (f *Fleet) load() load {
	l := load{Slots: f.settings.Load().maxCalls()}
	for _, p := range f.host.Plugins() {
		l.Running, l.Waiting = l.Running+p.Calls, l.Waiting+p.Waiting
	}
	l.Running = max(l.Running, int(f.serving.Load()))
	return l
}

// announce tells others of this host, at intervals and when something has changed.
func (f *Fleet) announce() {
	for {
		if data, err := f.announcement(false); err == nil && f.nc.IsConnected() {
			_ = f.nc.Publish(helloSubject, data)
		}
		timer := time.NewTimer(interval)
		select {
		case <-timer.C:
		case <-f.announces:
			timer.Stop()
			if !f.pause(10 * time.Millisecond) { // several changes are told at once
				return
			}
		case <-f.life.Done():
			timer.Stop()
			return
		}
	}
}

func (f *Fleet) announceSoon() {
	select {
	case f.announces <- struct{}{}:
	default:
	}
}

// pause waits, and returns false if the fleet is closed meanwhile.
func (f *Fleet) pause(d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return true
	case <-f.life.Done():
		return false
	}
}

// How long Join waits for the hosts that are there.
const (
	meetQuiet = 50 * time.Millisecond // after the last one that has answered
	meetMost  = time.Second
	meetSync  = 5 * time.Second // until what they share is read
)

// meet asks who is there, and waits until what they share is mounted.
func (f *Fleet) meet(ctx context.Context) {
	if !f.nc.IsConnected() {
		return
	}
	answers := make(chan *nats.Msg, 1024)
	inbox := f.nc.NewInbox()
	sub, err := f.nc.ChanSubscribe(inbox, answers)
	if err != nil {
		return
	}
	defer sub.Unsubscribe() //nolint:errcheck // no other has the inbox
	if f.nc.PublishRequest(whoSubject, inbox, nil) != nil {
		return
	}
	ctx, cancel := context.WithTimeout(ctx, meetMost)
	defer cancel()
	quiet := time.NewTimer(4 * meetQuiet)
	defer quiet.Stop()
	var met []*member
collect:
	for {
		select {
		case msg := <-answers:
			if m := f.hear(msg.Data); m != nil {
				met = append(met, m)
			}
			quiet.Reset(meetQuiet)
		case <-quiet.C:
			break collect
		case <-ctx.Done():
			break collect
		}
	}
	late := time.NewTimer(meetSync)
	defer late.Stop()
	f.mu.Lock()
	for _, m := range f.members {
		met = append(met, m)
	}
	f.mu.Unlock()
	for _, m := range met {
		select {
		case <-m.synced:
		case <-late.C:
			return
		case <-f.life.Done():
			return
		}
	}
}

// followConnection takes what happens to the connection.
func (f *Fleet) followConnection(states <-chan nats.Status) {
	for {
		select {
		case state := <-states:
			if state != nats.CONNECTED {
				f.disconnected()
				continue
			}
			for !f.nc.IsConnected() { // it is about to be
				if f.nc.IsClosed() || f.nc.IsReconnecting() || !f.pause(time.Millisecond) {
					break
				}
			}
			f.reconnected()
		case <-f.life.Done():
			return
		}
	}
}

// disconnected ends what went over the connection. What others share stays for a moment, as a server
// may only be restarted.
func (f *Fleet) disconnected() {
	f.mu.Lock()
	defer f.mu.Unlock()
	if f.closed {
		return
	}
	f.log.Warn("the connection to the NATS server is lost", "error", f.nc.LastError())
	lost := errors.New("the connection to the NATS server is lost")
	for _, m := range f.members {
		if m.line != nil {
			m.line.fail(lost)
		}
	}
	for id := range f.visits {
		f.dismiss(id)
	}
	f.signal()
}

// reconnected says that the host is there, and asks who else is.
func (f *Fleet) reconnected() {
	f.log.Info("there is a connection to the NATS server", "url", f.nc.ConnectedUrlRedacted())
	f.announceSoon()
	f.background(func() { f.meet(f.life) })
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		m.wake()
	}
	f.signal()
}

// Reconfigure changes what is shared, mounted, known and accepted. The connection, the key and the
// name stay.
//
// # Errors
//
// Those of [Config.Check]: nothing changes.
func (f *Fleet) Reconfigure(c Config) error {
	old := f.settings.Load()
	c.URL, c.Conn, c.Key, c.Name, c.Log, c.Now = old.URL, old.Conn, old.Key, old.Name, old.Log, old.Now
	if err := c.Check(); err != nil {
		return err
	}
	now := configure(c, old.epoch+1)
	f.settings.Store(now)
	if c.sharesAny() {
		before := f.catalogue.Load()
		f.catalogue.Store(gather(f.host, before.revision+1, nil))
	}
	f.announceSoon()
	f.mu.Lock()
	defer f.mu.Unlock()
	for _, m := range f.members {
		peer, _, known := now.peerOf(m.key)
		if !known {
			f.remove(m, "its key is not known any more")
			continue
		}
		m.peer, m.have = peer, 0
		m.wake()
	}
	for name := range f.offers {
		f.fit(name)
	}
	return nil
}

// Hosts returns the hosts of the fleet, this one first, the others sorted by name.
func (f *Fleet) Hosts() []HostStatus {
	c := f.settings.Load()
	self := HostStatus{
		Name: c.Name, Self: true, Key: c.Key.Public(), Instance: f.self.ID(), Version: cmp.Or(c.Version, host.Version), Labels: c.Labels,
		State: HostReady, Tools: len(f.catalogue.Load().index(c.Share)),
	}
	own := f.load()
	self.Running, self.Waiting, self.Slots = own.Running, own.Waiting, own.Slots
	if f.draining.Load() {
		self.State = HostDraining
	}
	if !f.nc.IsConnected() {
		self.State, self.Reason = HostLate, "it has no connection to the NATS server"
	}
	f.mu.Lock()
	defer f.mu.Unlock()
	var out []HostStatus
	names := map[string]int{c.Name: 1}
	for _, m := range f.members {
		names[m.host]++
		s := status(m.said, m.heard)
		s.Peer, s.Tools, s.Calls, s.Latency, s.Skew = m.peer, len(m.offers), int(m.calls.Load()), time.Duration(m.latency.Load()), m.skew
		switch {
		case m.refused != "":
			s.State, s.Reason = HostRefused, m.refused
		case m.late:
			s.State = HostLate
		case m.said.Draining:
			s.State = HostDraining
		}
		out = append(out, s)
	}
	for _, x := range f.strangers {
		if time.Since(x.heard) > goneAfter {
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

// Drain has a host take no new calls, or take them again. Empty: this host. It returns when the
// host has said so, not when its calls have ended.
//
// # Errors
//
// [tool.CodeNotFound] for a host that is not there; [tool.CodeAlreadyExists] if several have the name;
// [tool.CodePermissionDenied] if it does not let this one drain it; [tool.CodeUnavailable].
func (f *Fleet) Drain(ctx context.Context, name string, on bool) error {
	c := f.settings.Load()
	f.mu.Lock()
	found := f.named(name)
	f.mu.Unlock()
	self := name == "" || name == c.Name || name == f.self.ID()
	switch {
	case self && len(found) == 0:
		f.setDraining(on)
		return nil
	case len(found) == 0:
		e := tool.Errorf(tool.CodeNotFound, "no host of the fleet is called %.70q", name)
		e.OperatorHint = "toolhost fleet shows the hosts"
		return e
	case self || len(found) > 1:
		e := tool.Errorf(tool.CodeAlreadyExists, "several hosts of the fleet are called %s", name)
		e.OperatorHint = "use the instance, which toolhost fleet --json shows"
		return e
	}
	ctx, cancel := context.WithTimeout(ctx, syncTime)
	defer cancel()
	err := found[0].ask(ctx, drainOperation, drainRequest{on}, new(struct{}))
	if e := new(tool.Error); errors.As(err, &e) && !e.Unsent {
		return ofHost(e, found[0].host)
	}
	return err
}

func (f *Fleet) setDraining(on bool) {
	if f.draining.Swap(on) != on {
		f.announceSoon()
	}
}

// Leave says that the host leaves and takes no new calls, and waits until those of other hosts have
// ended.
//
// # Errors
//
// The context's end: there are still calls.
func (f *Fleet) Leave(ctx context.Context) error {
	f.setDraining(true)
	if !f.wait(ctx, func() bool { return f.serving.Load() == 0 }) {
		return context.Cause(ctx)
	}
	return nil
}

// wait waits until ok returns true, which a signal announces, and returns false if ctx ended first.
func (f *Fleet) wait(ctx context.Context, ok func() bool) bool {
	for {
		f.mu.Lock()
		changed := f.changed
		f.mu.Unlock()
		if ok() {
			return true
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return false
		}
	}
}

// leaveTime bounds how long a host that leaves waits until others have hung up: until then it answers
// calls that were under way to it, with a refusal.
const leaveTime = time.Second

// Close implements [tool.Provider]: it leaves the fleet. Calls in progress end.
func (f *Fleet) Close(ctx context.Context) error {
	f.closing.Do(func() {
		f.draining.Store(true)
		f.leaving.Store(true)
		if data, err := f.announcement(true); err == nil && f.nc.IsConnected() {
			_ = f.nc.Publish(helloSubject, data)
			goodbye, cancel := context.WithTimeout(ctx, leaveTime)
			f.wait(goodbye, func() bool { return !f.hasGuests() || !f.nc.IsConnected() })
			cancel()
		}
		f.mu.Lock()
		f.closed = true
		for _, m := range f.members {
			m.timer.Stop()
			m.end()
			if m.line != nil {
				m.line.fail(errors.New("this host leaves the fleet"))
				m.line = nil
			}
		}
		visits := f.visits
		f.visits = map[string]*visit{}
		f.signal()
		f.mu.Unlock()
		f.end()
		for _, v := range visits {
			v.leave()
		}
		if f.service != nil {
			_ = f.service.Stop()
		}
		if f.own {
			f.nc.Close()
		}
		f.running.Wait()
		f.mu.Lock()
		close(f.changes)
		f.mu.Unlock()
		f.host.Unregister(Owner)
	})
	return nil
}

// leave ends the links and sessions of a visit.
func (v *visit) leave() {
	v.mu.Lock()
	defer v.mu.Unlock()
	if v.expiry != nil {
		v.expiry.Stop()
	}
	for _, g := range v.guests {
		_ = g.link.Close()
	}
	for _, s := range v.sessions {
		_ = s.base.Close(context.Background())
	}
	v.sessions = map[sessionKey]*visitor{}
}
