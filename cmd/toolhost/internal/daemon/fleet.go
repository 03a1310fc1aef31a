package daemon

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/embedded"
	"github.com/toolhost/toolhost/internal/lazy"
	"github.com/toolhost/toolhost/internal/safefile"
	"github.com/toolhost/toolhost/internal/state"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Fleet is what the operator says of a fleet on the command line. It goes before the configuration. The
// zero value says nothing.
type Fleet struct {
	URL      string
	Embedded *int
	Name     string
}

// over returns what holds of a configuration.
func (f Fleet) over(n config.NATS) config.NATS {
	if f.URL != "" || f.Embedded != nil {
		n.URL, n.Embedded = config.Addresses(f.URL), f.Embedded
	}
	n.Name = cmp.Or(f.Name, n.Name)
	return n
}

// given reports whether the command line says what a setting of the configuration is about.
func (f Fleet) given(key string) bool {
	switch key {
	case "nats.url", "nats.embedded":
		return f.URL != "" || f.Embedded != nil
	case "nats.name":
		return f.Name != ""
	}
	return false
}

// membership is whether a daemon is in a fleet, and what it does there. Its exported methods answer commands.
type membership struct {
	daemon   *daemon
	member   atomic.Pointer[member] // nil: it is in none
	detached *detached
}

// configured returns what is said of the fleet now.
func (in *membership) configured() config.NATS {
	return in.daemon.options.Fleet.over(in.daemon.config().NATS)
}

// member is a daemon's part in a fleet.
type member struct {
	*fleet.Fleet
	key    fleet.Key
	name   string
	url    string
	server *embedded.Server // nil: the server is not in this process
	stores bool             // it has JetStream
}

// joinFleet joins the fleet, if there is to be one.
//
// # Errors
//
// [*exit.Error] for settings that cannot be used; those of [embedded.Start] and [fleet.Join].
func (in *membership) joinFleet(ctx context.Context) error {
	n := in.configured()
	if !n.Joins() {
		return nil
	}
	m := &member{url: string(n.URL)}
	var err error
	if m.key, err = session.FleetKey(n); err != nil {
		return err
	}
	if m.name, err = fleetName(n); err != nil {
		return err
	}
	if err := checkFiles(n); err != nil {
		return err
	}
	if n.Embedded != nil {
		store, err := storeOf(n)
		if err != nil {
			return exit.With(exit.BadUsage, err)
		}
		if m.server, err = embedded.Start(embedded.Config{
			Port: *n.Embedded, Keys: []string{m.key.Public()}, Peers: keysOf(n.Peers), StoreDir: store,
		}); err != nil {
			return err
		}
		m.url, m.stores = m.server.URL(), store != ""
	}
	durable := n.Durable()
	record := func() {}
	if durable {
		record = in.unended(ctx)
	}
	if m.Fleet, err = fleet.Join(ctx, in.daemon.Host, in.settings(m, n)); err != nil {
		m.closeServer()
		return exit.As(exit.BadUsage, err, tool.CodeInvalidArguments)
	}
	in.member.Store(m)
	if record(); durable {
		in.askAgain(m)
	}
	in.daemon.session.Notef("fleet: %s on %s, with the key %s", m.name, config.Addresses(m.url).Shown(), m.key)
	in.warn(m, n)
	return nil
}

// warn says what its operator cannot have meant.
func (in *membership) warn(m *member, n config.NATS) {
	for _, h := range m.Hosts() {
		if !h.Self && h.Name == m.name && h.State != fleet.HostRefused {
			in.daemon.log.Warn("another host of the fleet has this host's name: give one of them another by nats.name or serve --name", "name", m.name)
			break
		}
	}
	share := slices.Clone(n.Share)
	for _, p := range n.Peers {
		share = append(share, p.Share...)
	}
	var useless []string
	for _, t := range in.daemon.Host.Tools(host.Filter{Without: fleet.Owner}) {
		of := func(pattern string) bool { ok, _ := path.Match(pattern, t.Name); return ok }
		granted := false
		for _, c := range n.Callers {
			granted = granted || slices.Contains(c.Grants, t.Permission)
		}
		if t.Permission != "" && !granted && !t.Own && slices.ContainsFunc(share, of) {
			useless = append(useless, t.Name)
		}
	}
	if len(useless) > 0 {
		in.daemon.log.Warn("no caller of another host may call tools that are shared: grant what they need under nats.callers",
			"tools", strings.Join(useless[:min(len(useless), 10)], ", "), "all", len(useless))
	}
}

// settings returns what the fleet is told.
func (in *membership) settings(m *member, n config.NATS) fleet.Config {
	queue := n.Queue
	queue.Make = m.stores
	return fleet.Config{
		URL: m.url, KeepTrying: true, Credentials: n.Credentials, TLS: n.TLS, Key: m.key, Name: m.name, Labels: n.Labels,
		Peers: n.Known(), Share: n.Share, Mount: n.Mount, Prefix: n.Prefix, Rules: n.Rules, MaxCalls: n.MaxCalls, Queue: queue,
		Accept: in.accept, Log: in.daemon.log.Named("fleet"),
	}
}

// accept returns what a caller of another host has here. What the operator says on the
// command line is not for it.
func (in *membership) accept(by fleet.Caller) ([]host.SessionOption, error) {
	caller := setup.CallerOfFleet(in.daemon.config(), by)
	return append(caller.Session(), host.WithApprover(caller.Approver(setup.Askers{Queue: in.daemon.queue}))), nil
}

// checkFleet checks what a reload is about to put into effect.
func (in *membership) checkFleet(c *config.Config) error {
	m := in.member.Load()
	if m == nil {
		return nil
	}
	n := in.daemon.options.Fleet.over(c.NATS)
	if m.server != nil && !m.stores && n.Durable() {
		return c.Problems([]config.Problem{c.Problem("the embedded NATS server was started with no place for durable calls, and a running daemon cannot give it one",
			"start the daemon again, or change it back", "nats", "rules")})
	}
	told := in.settings(m, n)
	if err := told.Check(); err != nil {
		return c.Problems([]config.Problem{c.Problem(tool.AsError(err).Message, "mend it, or change it back", "nats")})
	}
	return nil
}

// reconfigureFleet puts a configuration that was checked into effect.
func (in *membership) reconfigureFleet() {
	m := in.member.Load()
	if m == nil {
		return
	}
	n := in.configured()
	if err := m.Reconfigure(in.settings(m, n)); err != nil {
		in.daemon.log.Error("what the fleet goes by has not changed", "error", err)
	}
	in.letIn()
	in.warn(m, n)
}

// letIn has the embedded server let in the peers, and who was one until his calls have ended.
func (in *membership) letIn() {
	m := in.member.Load()
	if m == nil || m.server == nil {
		return
	}
	keys := keysOf(in.configured().Peers)
	peers := len(keys)
	for _, h := range m.Hosts() {
		if h.State == fleet.HostDraining && h.Key != m.key.Public() && !slices.Contains(keys, h.Key) {
			keys = append(keys, h.Key)
		}
	}
	if err := m.server.SetKeys([]string{m.key.Public()}, keys); err != nil {
		in.daemon.log.Error("who may log in to the embedded NATS server has not changed", "error", err)
	}
	if len(keys) > peers {
		time.AfterFunc(time.Second, in.letIn)
	}
}

// leaveFleet tells the others that the host leaves, and gives their calls time until ctx ends.
func (in *membership) leaveFleet(ctx context.Context) {
	if m := in.member.Load(); m != nil {
		if err := m.Leave(ctx); err != nil {
			in.daemon.log.Warn("calls of other hosts were in progress at the end", "error", err)
		}
	}
}

// closeTime bounds what is left of a fleet at the end.
const closeTime = 5 * time.Second

func (in *membership) closeFleet() {
	m := in.member.Swap(nil)
	if m == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	if err := m.Close(ctx); err != nil {
		in.daemon.log.Warn("the fleet was not left in good order", "error", err)
	}
	m.closeServer()
}

func (m *member) closeServer() {
	if m.server == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), closeTime)
	defer cancel()
	_ = m.server.Close(ctx) // the process ends in any case
}

// fleet returns the fleet that the daemon is in, or an error: it is in none.
func (in *membership) fleet() (*fleet.Fleet, error) {
	if m := in.member.Load(); m != nil {
		return m.Fleet, nil
	}
	return nil, tool.Errorf(tool.CodeUnsupported, "the daemon is in no fleet").
		Try("set nats in its configuration, or start it with toolhost serve --nats URL")
}

// fleetState returns how the daemon's part in a fleet is; nil: it has none.
func (in *membership) fleetState() *control.FleetState {
	m := in.member.Load()
	if m == nil {
		return nil
	}
	out := &control.FleetState{Name: m.name, Server: config.Addresses(m.url).Shown()}
	for _, h := range m.Hosts() {
		switch {
		case h.Self:
			out.State, out.Reason = h.State, h.Reason
		case h.State == fleet.HostRefused:
			out.Refused++
		default:
			out.Hosts++
			out.Calls += h.Calls
		}
	}
	out.Tools = m.CountTools()
	if q := m.Queue(); q.Open || q.Reason != "" {
		out.Queue = &q
	}
	return out
}

// checkPlace checks that a call for a host would go there: a tool of this host's own runs here.
func (in *membership) checkPlace(name, on string) error {
	m, err := in.fleet()
	if err != nil {
		return err
	}
	t, ok := in.daemon.Host.Get(name)
	here := func(h fleet.HostStatus) bool { return h.Self && h.Name == on }
	if !ok || t.Owner == fleet.Owner || slices.ContainsFunc(m.Hosts(), here) {
		return nil
	}
	return tool.Errorf(tool.CodeInvalidArguments, "tool %s is this host's own, and does not run on %s", name, on).
		Of(name, "").NeverSent().Try("set nats.prefix, so that the tools of other hosts have other names")
}

func keysOf(peers map[string]config.Peer) (keys []string) {
	for _, name := range slices.Sorted(maps.Keys(peers)) {
		p := peers[name]
		keys = append(append(keys, p.Keys...), p.Key)
	}
	return slices.DeleteFunc(keys, func(key string) bool { return key == "" })
}

// storeOf returns the directory of the embedded server; empty: nothing is kept.
func storeOf(n config.NATS) (string, error) {
	if n.Store != "" || !n.Durable() {
		return n.Store, nil
	}
	dir, err := state.Dir()
	return filepath.Join(dir, "nats"), err
}

// notInNames are what a host's name cannot have.
var notInNames = lazy.Regexp(`[^A-Za-z0-9_.-]+`)

// fleetName returns what the host is called.
func fleetName(n config.NATS) (string, error) {
	if n.Name != "" {
		return n.Name, nil
	}
	machine, err := os.Hostname()
	name := strings.Trim(notInNames().ReplaceAllString(machine, "-"), "_.-")
	if err != nil || name == "" {
		return "", exit.Usage("this machine has no name that a host of a fleet can have", "name the host with nats.name or serve --name")
	}
	return name[:min(len(name), 64)], nil
}

// checkFiles looks at the files of the connection, which would otherwise be missed each time that
// the host connects.
func checkFiles(n config.NATS) error {
	for key, path := range map[string]string{
		"nats.credentials": n.Credentials, "nats.tls.ca": n.TLS.CA, "nats.tls.cert": n.TLS.Cert, "nats.tls.key": n.TLS.Key,
	} {
		if path == "" {
			continue
		}
		f, info, err := safefile.OpenTarget(path)
		if errors.Is(err, fs.ErrNotExist) {
			err = fmt.Errorf("there is no file %s", path)
		}
		if err != nil {
			return exit.Usage(fmt.Sprintf("%s: %v", key, err), "mend the configuration")
		}
		_ = f.Close() // it is only looked at
		if secret := key == "nats.credentials" || key == "nats.tls.key"; secret && !safefile.Private(info, 0o077) {
			return exit.Usage(fmt.Sprintf("%s: %s is secret, and other users can read it", key, path),
				"chmod 600 "+path+", and make a new one if they may have")
		}
	}
	return nil
}
