package host

import (
	"context"
	"crypto/rand"
	"errors"
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
	"github.com/toolhost/toolhost/host/internal/manifest"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Host is a registry of tools and the providers that they came with. It is safe
// for concurrent use.
type Host struct {
	opts      options
	ruling    sync.RWMutex // held while entries are made by opts.overrides, and published
	registry  registry
	place     string          // the root with links resolved
	way       tool.Handler    // of a call, from its entry on
	audit     *chain.Audit    // nil: nothing is on record
	observer  *chain.Observer // nil: there are no hooks
	manifests *manifest.Cache // nil: nothing is remembered of plugins
	names     *nameBook       // nil: nothing is remembered of names
	anonymous *Session        // makes the calls of Host.Execute: no grants, no approver
	run       string          // begins the IDs of this host's calls
	closed    atomic.Bool
	_         [64]byte // each call writes the next, and reads those before
	calls     atomic.Uint64
	_         [64]byte
	watchers  sync.WaitGroup
	starting  chan struct{}   // has room for each plugin that may be started at a time
	life      context.Context // ends when Close begins
	endLife   context.CancelFunc

	turns sync.Map // a *sync.Mutex by owner, held while a step of Sync is done

	mu        sync.Mutex // never held while waiting
	sources   []source
	skipped   map[string][]plugin.Skipped // by directory
	dirs      []string                    // that plugins come from
	held      map[string]heldChange       // by plugin
	slots     map[slots]*chain.Slots
	socketDir *socketDir    // made by the first plugin
	swept     chan struct{} // closed when the sweep has ended; nil: there was none
}

var _ tool.Provider = (*Host)(nil)

// New makes a host with no tools.
//
// # Errors
//
// [tool.CodeNotFound] where the root is not a directory; [tool.CodeInternal] where the file
// of [WithNames] is there and cannot be read.
func New(opts ...Option) (*Host, error) {
	o := options{root: ".", logger: hclog.NewNullLogger(), defaults: plugin.DefaultSettings()}
	for _, opt := range opts {
		opt(&o)
	}
	root, err := filepath.Abs(o.root)
	if err != nil {
		return nil, fmt.Errorf("workspace root: %w", err)
	}
	if info, err := os.Stat(root); err != nil || !info.IsDir() {
		return nil, &tool.Error{
			Code: tool.CodeNotFound, Message: fmt.Sprintf("the workspace root %s is not a directory", root),
			Hint: "name one with --root", Err: err,
		}
	}
	o.root = root
	place, err := filepath.EvalSymlinks(root)
	if err != nil {
		return nil, fmt.Errorf("workspace root: %w", err)
	}
	h := &Host{
		opts: o, place: place, run: strings.ToLower(rand.Text()[:8]),
		slots: map[slots]*chain.Slots{}, skipped: map[string][]plugin.Skipped{}, held: map[string]heldChange{},
	}
	h.starting = make(chan struct{}, startsAtOnce())
	h.life, h.endLife = context.WithCancel(context.Background())
	if o.audit != nil {
		h.audit = &chain.Audit{Sink: o.audit, Required: o.auditRequired, OnError: func(err error) {
			if !h.notePanic(err) {
				o.logger.Error("audit", "error", err)
			}
		}}
	}
	if o.hooks != nil {
		h.observer = chain.NewObserver(*o.hooks, func(v any) { o.logger.Error("a hook panicked", "panic", v) })
	}
	if o.cacheDir != "" {
		h.manifests = openCache(o.cacheDir, o.logger)
	}
	if o.names != "" {
		if h.names, err = openNames(o.names); err != nil {
			return nil, &tool.Error{Code: tool.CodeInternal, Message: err.Error(), Hint: "mend or remove the file", Err: err}
		}
	}
	h.way = h.enter()
	h.anonymous = h.Session()
	return h, nil
}

// Root is the workspace, an absolute path.
func (h *Host) Root() string { return h.opts.root }

// Execute runs a call of nobody in particular, with no grants and no approver.
// Use a [Session] for anything else.
//
// # Errors
//
// An [*tool.Error]. What the codes mean is told at each; a tool's own failure
// is no error but a result with IsError.
func (h *Host) Execute(ctx context.Context, call tool.Call) (tool.Result, error) {
	return h.anonymous.Execute(ctx, call)
}

// Call is Execute with an [Outcome] for a model in place of a Go error.
func (h *Host) Call(ctx context.Context, call tool.Call) Outcome { return h.anonymous.Call(ctx, call) }

// CallAll is [Session.CallAll] for nobody in particular.
func (h *Host) CallAll(ctx context.Context, calls []tool.Call) []Outcome {
	return h.anonymous.CallAll(ctx, calls)
}

// Close ends all providers side by side, and waits for them no longer than ctx
// and their own bounds. Calls under way may end first; new ones are refused.
func (h *Host) Close(ctx context.Context) error {
	h.closed.Store(true)
	h.endLife()
	h.mu.Lock()
	sources := h.sources
	h.sources = nil
	h.mu.Unlock()

	errs := make([]error, len(sources)+2)
	var all sync.WaitGroup
	for i, s := range sources {
		all.Go(func() { errs[i] = h.contain(s.owner, func() error { return s.provider.Close(ctx) }) })
	}
	all.Wait()
	h.watchers.Wait()
	h.awaitSweep(ctx)
	if h.observer != nil {
		bound, cancel := context.WithTimeout(ctx, hookGrace)
		h.observer.Close(bound)
		cancel()
	}
	h.mu.Lock()
	dir := h.socketDir
	h.socketDir = nil
	h.mu.Unlock()
	if dir != nil {
		errs[len(sources)] = dir.remove()
	}
	if h.manifests != nil {
		errs[len(sources)+1] = h.manifests.Close()
	}
	return errors.Join(errs...)
}

// hookGrace is how long Close waits for hooks to take what is queued.
const hookGrace = 5 * time.Second

// slots are one provider's, with so many to run and to wait.
type slots struct {
	owner            string
	running, waiting int
}

// slotsOf are the slots that an owner's tools share.
func (h *Host) slotsOf(e *entry) *chain.Slots {
	key := slots{e.owner, e.settings.Limits.Running, e.settings.Limits.Waiting}
	h.mu.Lock()
	defer h.mu.Unlock()
	s, ok := h.slots[key]
	if !ok {
		s = chain.NewSlots(key.running, key.waiting)
		h.slots[key] = s
	}
	return s
}

// nextID names a call for this host's run and for logs that several hosts write.
func (h *Host) nextID() string {
	var b [40]byte // a text that is made in one go is allocated once
	id := append(append(b[:0], h.run...), '-')
	return string(strconv.AppendUint(id, h.calls.Add(1), 10))
}
