package host

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/internal/share"
	"github.com/toolhost/toolhost/internal/trust"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Host is a registry of tools and the providers that they came with. It is safe
// for concurrent use.
type Host struct {
	opts      options
	operator  *operator
	registry  registry
	compiler  compiler
	roster    *roster.Roster // the plugins, and what else was attached
	chain     tool.Handler   // the steps that all calls share
	discovery func() *discovery
	events    *events      // nil: there are no hooks
	rates     *chain.Rates // counts the calls of callers
	places    *share.Pool  // of calls; nil: any number
	refusals  chain.Refusals
	anonymous *Session // makes the calls of Host.Execute: no grants, no approver
	run       string   // begins the IDs of this host's calls
	closed    atomic.Bool
	_         [64]byte // each call writes the next, and reads those before
	calls     atomic.Uint64
	_         [64]byte
}

var (
	_ tool.Provider  = (*Host)(nil)
	_ tool.Previewer = (*Host)(nil)
)

// New makes a host with no tools.
//
// # Errors
//
// [tool.CodeInvalidArguments] if an option, or a value that one needs, is nil;
// [tool.CodeNotFound] if the root is not a directory; [tool.CodeInternal] if the file of
// [WithState] exists and cannot be read.
func New(opts ...Option) (*Host, error) {
	o := options{
		root: ".", logger: hclog.NewNullLogger(), defaults: plugin.DefaultSettings(), operator: &operator{trusted: trust.Memory()},
	}
	for _, opt := range opts {
		if o.refuseNil("New", opt == nil); opt != nil {
			opt(&o)
		}
	}
	if o.fault != nil {
		return nil, o.fault
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, fmt.Errorf("workspace root: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, tool.Errorf(tool.CodeNotFound, "the workspace root %s is not a directory", root).
			Because(err).Fix(remedy.Root.String())
	}
	o.root, o.plugins = root, o.pluginCache()
	for _, decide := range o.decided {
		decide(o.operator)
	}
	h := &Host{opts: o, operator: o.operator, run: strings.ToLower(rand.Text()[:8])}
	h.operator.defaults, h.operator.root = o.defaults, root
	h.compiler.defaults, h.compiler.logger = &h.opts.defaults, o.logger
	rates := "" // in memory
	if o.state != "" {
		rates = filepath.Join(o.state, "rates.json")
	}
	h.rates = chain.NewRates(rates)
	h.compiler.rates = h.rates
	h.compiler.middleware = o.middleware
	h.compiler.slots, h.compiler.asked = map[slotsKey]*chain.Slots{}, map[string]*atomic.Int64{}
	h.compiler.rules.Store(o.overrides)
	h.registry.current = h.compiler.current
	h.compiler.published = h.registry.read
	if o.audit != nil {
		h.compiler.audit = &chain.Audit{Sink: o.audit, Required: o.auditRequired, OnError: func(err error) {
			if !h.logPanic(err) {
				o.logger.Error("audit", "error", err)
			}
		}}
	}
	if o.hooks != nil {
		h.events = newEvents(*o.hooks, func(v any) { o.logger.Error("a hook panicked", "panic", v) })
	}
	h.registry.events = h.events
	h.refusals.Audit = h.compiler.audit
	if o.most > 0 {
		h.places = share.NewPool(o.most)
	}
	if h.roster, err = h.newRoster(); err != nil {
		return nil, err
	}
	h.compiler.answered = h.roster.Answered
	h.chain = h.commonChain()
	h.discovery = sync.OnceValue(func() *discovery { return newDiscovery(h) })
	h.anonymous = h.Session(WithCaller(Caller{Name: anonymous}))
	return h, nil
}

// newRoster makes the roster of the host's plugins, which publishes their tools in the
// host's registry.
func (h *Host) newRoster() (*roster.Roster, error) {
	o := &h.opts
	workspace, err := filepath.EvalSymlinks(o.root)
	if err != nil {
		return nil, fmt.Errorf("workspace root: %w", err)
	}
	out, err := roster.New(roster.Options{
		Plugin: pluginrun.Config{
			Root: o.root, OnState: h.events.pluginChanged, Protected: h.Protected, MayWrite: o.mayWrite, HostVersion: Version, Logger: o.logger,
		},
		Workspace: workspace, Unheld: o.unheld, CacheDir: o.cacheDir, PluginCache: o.plugins, StateDir: o.state, Keeps: !o.noRollback,
		Settings: h.operator.settingsOf, Pins: h.operator.pinsOf, ServerPins: h.operator.serverPins,
	}, struct {
		*compiler
		*registry
	}{&h.compiler, &h.registry})
	if err != nil {
		return nil, tool.Errorf(tool.CodeInternal, "%w", err).Try("mend or remove the file")
	}
	return out, nil
}

// Root returns the workspace, an absolute path.
func (h *Host) Root() string { return h.opts.root }

// Execute runs a call of an anonymous session, which has no grants and no approver.
// Use a [Session] for anything else. A host that is attached to another one runs the calls
// of the other's callers: each keeps its ID, grants, approver and rates.
//
// # Errors
//
// An [*tool.Error]; see [tool.Code] for the codes. A tool's own failure is not an error but a
// result with IsError.
func (h *Host) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return h.anonymous.Execute(ctx, call)
}

// Call is Execute with an [Outcome] for a model in place of a Go error.
func (h *Host) Call(ctx context.Context, call tool.Call) Outcome { return h.anonymous.Call(ctx, call) }

// CallAll is [Session.CallAll] of the anonymous session.
func (h *Host) CallAll(ctx context.Context, calls []tool.Call) []Outcome {
	return h.anonymous.CallAll(ctx, calls)
}

// Close closes all providers side by side, and waits for them no longer than ctx. Calls
// under way may end first, within 5 s; new ones are refused.
//
// # Errors
//
// Those of the providers; the context's end for each that has not closed by then.
func (h *Host) Close(ctx context.Context) error {
	h.closed.Store(true)
	h.registry.close()
	h.compiler.functions.Refuse()
	err := h.roster.Close(ctx)
	drain, end := context.WithTimeout(ctx, drainTimeout)
	defer end()
	h.compiler.functions.Wait(drain)
	bound, cancel := context.WithTimeout(ctx, hookGrace)
	defer cancel()
	h.events.close(bound)
	h.refusals.Close()
	h.rates.Close()
	return err
}

// drainTimeout is how long Close waits for functions, which may be waiting for a plugin that it has closed.
const drainTimeout = 5 * time.Second

// hookGrace is how long Close waits for hooks to take what is queued.
const hookGrace = 5 * time.Second

// nextID names a call for this host's run and for logs that several hosts write.
func (h *Host) nextID() string {
	var b [40]byte // a text that is made in one go is allocated once
	id := append(append(b[:0], h.run...), '-')
	return string(strconv.AppendUint(id, h.calls.Add(1), 10))
}
