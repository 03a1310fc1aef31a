package servers

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/mcpserver"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Mounts are the servers that are mounted on a host. Make it with [NewMounts], and follow the
// configuration with [Mounts.Sync]. It is safe for concurrent use.
type Mounts struct {
	host *host.Host

	syncing sync.Mutex // one Sync at a time
	mu      sync.Mutex
	mounted map[string]mounted
}

// mounted is a server as it was mounted last.
type mounted struct {
	revision string              // empty: it will be
	upstream *mcpclient.Upstream // nil: it cannot be reached
}

// NewMounts returns the mounts of a host, of which there are none yet.
func NewMounts(h *host.Host) *Mounts { return &Mounts{host: h, mounted: map[string]mounted{}} }

// Expect has the servers of a set among the upstreams before Sync mounts them.
func (m *Mounts) Expect(set *Set) {
	if set == nil {
		return
	}
	for _, n := range set.All {
		if n.Err == nil && n.Server.Enabled && !n.Disabled {
			if upstream, err := m.upstream(n); err == nil {
				m.set(n.Name, &mounted{upstream: upstream})
			}
		}
	}
}

// upstream returns what connects to a server. One elsewhere sees nothing of the workspace.
func (m *Mounts) upstream(n Named) (*mcpclient.Upstream, error) {
	to := n.upstream()
	if to.URL == "" {
		to.Root = m.host.Root()
	}
	return mcpclient.New(to)
}

// Sync mounts the servers of a set side by side, upgrades those that have changed, and removes
// those that are not in it. Nil: there are none.
//
// # Errors
//
// Those of [host.Host.Mount] and [host.Host.Detach], joined, for each server that cannot be
// used. All others are mounted.
func (m *Mounts) Sync(ctx context.Context, set *Set) error {
	m.syncing.Lock()
	defer m.syncing.Unlock()
	if set == nil {
		set = &Set{}
	}
	var gone []error
	for _, name := range m.names() { // first, as others may take their names
		if _, ok := set.Get(name); !ok {
			m.set(name, nil)
			gone = append(gone, m.host.Detach(ctx, name))
		}
	}
	errs := make([]error, len(set.All))
	var wg sync.WaitGroup
	for i, one := range set.All {
		wg.Go(func() { errs[i] = m.mount(ctx, one) })
	}
	wg.Wait()
	return errors.Join(append(gone, errs...)...)
}

func (m *Mounts) names() (out []string) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for name := range m.mounted {
		out = append(out, name)
	}
	return out
}

// set keeps what is mounted under a name; nil: nothing is.
func (m *Mounts) set(name string, now *mounted) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if now == nil {
		delete(m.mounted, name)
		return
	}
	m.mounted[name] = *now
}

// Upstreams returns the servers of which prompts, resources and the like can be passed on, as
// they were mounted last.
func (m *Mounts) Upstreams() (out []mcpserver.Upstream) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, one := range m.mounted {
		if one.upstream != nil {
			out = append(out, one.upstream)
		}
	}
	return out
}

// Unmatched returns what [mcpclient.Upstream.Unmatched] does of a server.
func (m *Mounts) Unmatched(name string) (patterns, names []string) {
	m.mu.Lock()
	of := m.mounted[name].upstream
	m.mu.Unlock()
	if of == nil {
		return nil, nil
	}
	return of.Unmatched()
}

// mount mounts a server, if it is not mounted as it is.
func (m *Mounts) mount(ctx context.Context, n Named) error {
	revision := n.revision()
	m.mu.Lock()
	last := m.mounted[n.Name]
	m.mu.Unlock()
	before := last.revision
	if before == revision {
		return nil
	}
	server := plugin.Server{
		Name: n.Name, Identity: n.identity(), Revision: revision, Path: n.Shown(),
		Settings: n.settings(),
	}
	now := &mounted{revision: revision}
	if n.Err == nil && server.Settings.Enabled {
		if now.upstream = last.upstream; before != "" || now.upstream == nil {
			now.upstream, n.Err = m.upstream(n)
		}
	}
	if now.upstream != nil {
		now.upstream.StartWith(func(ctx context.Context) error { return m.host.StartPlugin(ctx, n.Name) })
	}
	server.Connector = now.upstream
	if n.Err != nil || !server.Settings.Enabled {
		now.upstream, server.Connector = nil, unusable{n}
	}
	if before == "" {
		m.set(n.Name, now) // before it has tools, of which clients are told
	}
	_, err := m.host.Mount(ctx, server)
	if tool.CodeOf(err) == tool.CodeAlreadyExists && before == "" {
		if tool.AsError(err).Tool == "" { // a plugin has the name, and stays
			m.set(n.Name, nil)
			return tool.Errorf(tool.CodeAlreadyExists,
				"the MCP server %s (%s) is not mounted: a plugin has its name", n.Name, n.From).
				Of("", n.Name).At(callstage.Start).Because(err).Try("give the server another name")
		}
	}
	m.set(n.Name, now)
	return err
}

// identity is what is reached under which name.
func (n Named) identity() string { return n.Name + " " + n.Server.Identity() }

// Record returns the server whose record it is.
func (n Named) Record() known.Plugin { return known.Server(n.identity(), n.Name) }

// Upstream returns the server to be mounted. Nothing is started.
func (n Named) Upstream() (*mcpclient.Upstream, error) { return mcpclient.New(n.upstream()) }

func (n Named) upstream() mcpclient.Config {
	t := n.Target
	c := mcpclient.Config{
		Name: n.Name, Command: t.Command, Args: t.Args, Env: t.Env, Dir: t.Dir, URL: t.URL,
		Include: n.Server.Include, Exclude: n.Server.Exclude,
		Questions: mcpclient.Questions{
			NoElicitation: !n.Server.Questions.Elicitation, Sampling: n.Server.Questions.Sampling, NoRoots: !n.Server.Questions.Roots,
		},
	}
	if n.Server.Revision != config.Automatic {
		c.Version = n.Server.Revision
	}
	if t.URL == "" {
		return c
	}
	c.Transport = string(n.Server.Transport)
	c.Headers = http.Header{}
	for name, value := range t.Headers {
		c.Headers.Set(name, value)
	}
	own := n.Server.OAuth
	c.OAuth = mcpclient.OAuth{
		ClientID: own.ClientID, ClientSecret: t.ClientSecret, Issuer: own.Issuer, Scopes: own.Scopes, Port: own.Port,
	}
	return c
}

// settings are how the server is run.
func (n Named) settings() plugin.Settings {
	s := n.Server.Settings
	s.Enabled, s.Trace = s.Enabled && !n.Disabled, n.Trace
	s.Unchecked = n.Server.Arguments == config.Unchecked
	return s
}

// Shown returns how the server is reached, as a person may read it: a command line or a URL,
// without what looks like a secret.
func (n Named) Shown() string {
	if n.Server.URL != "" {
		return n.Server.URL.Shown()
	}
	return strings.Join(append([]string{n.Server.Command}, n.Server.Args.Shown()...), " ")
}

// revision changes with everything that matters to the server, secrets too. It is kept in
// memory only.
func (n Named) revision() string {
	why := ""
	if n.Err != nil {
		why = n.Err.Error()
	}
	text, err := json.Marshal([]any{
		n.Server.Identity(), n.Server.OAuth, n.Server.Questions, n.Server.Revision, n.Server.Arguments, n.Server.Settings,
		n.Target, n.Disabled, why,
	})
	if err != nil {
		panic("servers: " + err.Error()) // these types can be encoded
	}
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Changed returns the names of servers that are not the same in both sets, sorted.
func (s *Set) Changed(other *Set) []string {
	return config.Differing(s.revisions(), other.revisions(), "")
}

func (s *Set) revisions() map[string]string {
	out := map[string]string{}
	for _, one := range s.All {
		out[one.Name] = one.revision()
	}
	return out
}

// unusable is a server that cannot be reached as it is configured.
type unusable struct{ n Named }

// Command implements [plugin.Connector].
func (unusable) Command() *plugin.Command { return nil }

// Connect implements [plugin.Connector].
func (u unusable) Connect(context.Context, io.ReadWriteCloser, plugin.Events) (plugin.Connection, error) {
	return nil, tool.Errorf(tool.CodeUnavailable, "the MCP server at %s cannot be used: %w", u.n.From, u.n.Err).
		Of("", u.n.Name).At(callstage.Start)
}
