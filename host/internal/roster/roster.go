package roster

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"path/filepath"
	"slices"
	"strings"
	"sync"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/kept"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/journal"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/protect"
)

// Options say how a [Roster] runs plugins.
type Options struct {
	// Plugin is how every plugin is run. Root, HostVersion, Logger and OnState are required;
	// Settings, Sockets, Pins, Admit and Changed are set for each plugin.
	Plugin pluginrun.Config
	// Workspace is the root with links resolved. What changes in it is held for the
	// operator.
	Workspace string
	// Unheld runs what changes inside the workspace without asking the operator.
	Unheld bool
	// CacheDir is the directory in which descriptions are remembered; empty: they are not.
	CacheDir string
	// PluginCache is the directory below which plugins have caches of their own. They are temporary if it
	// is empty or cannot be used. Nil: plugins have none.
	PluginCache *string
	// StateDir is the directory of what is known of plugins; empty: it is known as long as the
	// roster.
	StateDir string
	// Keeps says that the binaries that served last are kept there.
	Keeps bool
	// Settings are what the operator decides for a plugin, asked when it is found.
	Settings func(plugin.Candidate) plugin.Settings
	// Pins returns what may run of a plugin directory; nil: every plugin may.
	Pins func(dir string) (pluginrun.Pins, error)
	// ServerPins returns what may run of the servers.
	ServerPins func() (pluginrun.Pins, error)
}

// Roster is the plugins of a host, and its other providers. It is safe for concurrent use.
type Roster struct {
	opts     Options
	registry Registry
	log      hclog.Logger
	memory   memory
	book     *known.Book // what is known of plugins
	binaries *kept.Store // nil: binaries are not kept
	journals *journal.Store
	sockets  socketDirs
	caches   *pluginCaches
	starting startSlots

	life       context.Context // ends when Close begins
	endLife    context.CancelFunc
	background sync.WaitGroup // goroutines that Close waits for
	offering   sync.Mutex     // held while what a server has besides tools is noted
	publishing sync.Mutex     // held while tools are published and the outcome is noted

	directories

	mu      sync.Mutex // never held while waiting
	closed  bool
	members map[string]*member // by name; a member that is absent stays
	// draining are the sources that were replaced or withdrawn and whose calls may still end.
	draining map[*source]bool
}

// New makes a roster without members.
//
// # Errors
//
// Those of [known.Open].
func New(o Options, r Registry) (*Roster, error) {
	out := &Roster{
		opts: o, registry: r, log: o.Plugin.Logger, starting: newStartSlots(), memory: memory{log: o.Plugin.Logger},
		members: map[string]*member{}, draining: map[*source]bool{},
		directories: directories{skipped: map[string][]plugin.Skipped{}},
	}
	logs := o.StateDir
	if logs != "" {
		logs = filepath.Join(logs, journal.Folder)
	}
	out.journals = journal.NewStore(logs, func(text string, err error) { out.log.Warn(text, "error", err) })
	out.life, out.endLife = context.WithCancel(context.Background())
	out.sockets.life = out.life
	if o.CacheDir != "" {
		out.memory.open(o.CacheDir)
	}
	out.caches = newPluginCaches(o, &out.sockets)
	if o.PluginCache != nil && *o.PluginCache != "" {
		if dir, _, err := protect.Resolve(*o.PluginCache); err == nil {
			out.opts.Plugin.Hidden = []string{dir}
		}
	}
	var err error
	if out.book, err = known.Open(o.StateDir); err != nil {
		return nil, fmt.Errorf("what is known of plugins cannot be read: %w", err)
	}
	if o.StateDir != "" && o.Keeps {
		out.binaries = openKept(o.StateDir, out.book, out.log)
	}
	return out, nil
}

// Close closes all providers side by side, and waits for them no longer than ctx; plugins,
// which see to that themselves, have ended when it returns. Calls under way may end first.
func (r *Roster) Close(ctx context.Context) error {
	r.endLife()
	r.mu.Lock()
	r.closed = true
	var sources []*source
	for _, m := range r.members {
		if m.source != nil {
			sources = append(sources, m.source)
			m.facts = facts{}
		}
	}
	r.mu.Unlock()

	closing := make([]chan error, len(sources))
	for i, s := range sources {
		closing[i] = make(chan error, 1)
		go func() { closing[i] <- s.close(ctx) }()
	}
	var errs []error
	for i, s := range sources {
		errs = append(errs, s.awaitClosed(ctx, closing[i]))
	}
	background := make(chan struct{})
	go func() {
		r.background.Wait()
		close(background)
	}()
	select {
	case <-background:
	case <-ctx.Done(): // what is left is code of the embedding program, or ends soon
	}
	if r.memory.Cache != nil {
		errs = append(errs, r.memory.Close())
	}
	r.journals.Close()
	errs = append(errs, r.binaries.Close())
	errs = append(errs, r.sockets.close(ctx)) // last: it needs descriptors, of which there may be too few
	return errors.Join(errs...)
}

// member returns the member of that name, which may be absent.
func (r *Roster) member(owner string) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	m := r.members[owner]
	if m == nil {
		m = &member{roster: r, owner: owner, turn: make(chan struct{}, 1), journal: r.journals.Of(owner)}
		r.members[owner] = m
	}
	return m
}

// find returns the member of that name; nil: there was never one.
func (r *Roster) find(name string) *member {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.members[name]
}

// current returns the source of that name; nil: there is none.
func (r *Roster) current(name string) *source {
	if m := r.find(name); m != nil {
		return m.now().source
	}
	return nil
}

// Plugins returns what each plugin is doing, sorted by name.
func (r *Roster) Plugins() []plugin.Status {
	r.mu.Lock()
	known := make(map[string]facts, len(r.members))
	for owner, m := range r.members {
		known[owner] = m.facts
	}
	r.mu.Unlock()
	var out []plugin.Status
	for owner, f := range known {
		if status, ok := f.status(owner); ok {
			out = append(out, status)
		}
	}
	slices.SortFunc(out, func(a, b plugin.Status) int { return strings.Compare(a.Name, b.Name) })
	return out
}

// Sandbox returns what the process of a plugin may do, as host.Host.Sandbox says.
func (r *Roster) Sandbox(name string) (plugin.SandboxStatus, bool) {
	s := r.current(name)
	if s == nil || s.plugin == nil {
		return plugin.SandboxStatus{}, false
	}
	status := s.plugin.Sandbox()
	return status, status.Level != ""
}

// Draining returns the processes of plugins that were replaced or withdrawn, whose calls may
// still end, sorted by name and start.
func (r *Roster) Draining() []plugin.Status {
	r.mu.Lock()
	sources := slices.Collect(maps.Keys(r.draining))
	r.mu.Unlock()
	var out []plugin.Status
	for _, s := range sources {
		if s.plugin == nil {
			continue
		}
		if status := s.plugin.Status(); status.PID != 0 || status.Calls > 0 {
			status.State = plugin.Draining
			out = append(out, status)
		}
	}
	slices.SortFunc(out, func(a, b plugin.Status) int {
		return cmp.Or(strings.Compare(a.Name, b.Name), a.Since.Compare(b.Since))
	})
	return out
}

// Journal returns what was kept of a plugin's output, or, without a name, of what happened to all plugins; nil: none
// has that name.
func (r *Roster) Journal(name string) *journal.Journal {
	if name == "" {
		return r.journals.Events()
	}
	m := r.find(name)
	if m == nil {
		return nil
	}
	if now := m.now(); now.source == nil && now.held.path == "" {
		return nil
	}
	return m.journal
}

// Paths returns the directories that plugins come from, the links in them that are plugins,
// and the directory for sockets.
func (r *Roster) Paths() []string {
	paths := append(r.all(), r.linked()...)
	if dir := r.sockets.current(); dir != "" {
		paths = append(paths, dir)
	}
	return paths
}

// linked returns the paths of plugins that are links.
func (r *Roster) linked() (paths []string) {
	for _, s := range r.sources() {
		if s.file != s.path {
			paths = append(paths, s.path)
		}
	}
	return paths
}

// pinFaults returns what keeps all plugins of directories from being started. It also makes
// a lock that is there required from then on.
func (r *Roster) pinFaults(dirs []string) []error {
	var faults []error
	for _, dir := range dirs {
		abs, err := filepath.Abs(dir)
		if err != nil {
			continue
		}
		_, err = r.opts.Pins(abs)
		same := func(e error) bool { return e.Error() == err.Error() }
		if err != nil && !slices.ContainsFunc(faults, same) {
			faults = append(faults, err)
		}
	}
	return faults
}
