package main

import (
	"context"
	"errors"
	"slices"
	"time"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// closeTimeout bounds the shutdown of all plugins: a plugin may take 5 s to
// drain and 2 s to go by itself.
const closeTimeout = 10 * time.Second

// local is a host of this process with its plugins loaded, and why some were not.
type local struct {
	*host.Host
	faults []*tool.Error
	onEnd  func() // closes what the host writes to
	cli    facts  // of those who use commands
}

var _ backend = (*local)(nil)

// openLocal loads the plugins of the directories that can be used, and says which those
// are. Plugins of which nothing is remembered are started; the ones that do not start
// are faults of the host that comes back, and no error.
func (a *app) openLocal(ctx context.Context, named pluginDirs, n needs) (*local, []string, error) {
	dirs, err := named.usable()
	if err != nil {
		return nil, nil, err
	}
	h, err := a.makeLocal(n)
	if err != nil {
		return nil, nil, err
	}
	_, err = h.Load(ctx, dirs...)
	h.faults = flatten(err)
	if err := h.unusable(ctx); err != nil {
		return nil, nil, errors.Join(err, h.close(ctx))
	}
	return h, dirs, nil
}

// makeLocal makes a host with no plugins.
func (a *app) makeLocal(n needs) (*local, error) {
	logger, err := a.logger()
	if err != nil {
		return nil, err
	}
	carrier, err := plugin.ParseCarrier(a.carrier)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	configured, err := a.hostOptions()
	if err != nil {
		return nil, err
	}
	var opts []host.Option
	done := func() {}
	if n.options != nil {
		if opts, done, err = n.options(); err != nil {
			return nil, err
		}
	}
	rules, err := a.lockRules()
	if err != nil {
		done()
		return nil, err
	}
	if !n.uncached {
		opts = append(opts, cache(a.configured().CacheDir)...)
	}
	opts = append(opts, keptNames()...)
	made, err := host.New(slices.Concat(configured, []host.Option{host.WithLocks(rules.locks...), host.WithProtected(a.protected()...)}, opts, []host.Option{
		host.WithRoot(a.root), host.WithLogger(logger), host.WithCarrier(carrier),
	})...)
	if err != nil {
		done()
		return nil, &failure{exitUsage, err}
	}
	l := &local{Host: made, onEnd: done}
	l.cli.set(a.caller())
	return l, nil
}

// unusable says why nothing can be done with what was loaded; nil: something
// can.
func (h *local) unusable(ctx context.Context) error {
	if ctx.Err() != nil {
		return tool.Errorf(tool.CodeCanceled, "ended before the plugins were ready: %w", context.Cause(ctx))
	}
	// A fault with no plugin's name is about a directory. Where one of several
	// cannot be used, the others can.
	ofDir := slices.IndexFunc(h.faults, func(e *tool.Error) bool { return e.Plugin == "" })
	if ofDir < 0 || len(h.Plugins()) > 0 {
		return nil
	}
	return &failure{exitUnavailable, h.faults[ofDir]}
}

func (h *local) list(_ context.Context, f host.Filter) ([]host.Tool, error) { return h.visible(f), nil }

func (h *local) find(_ context.Context, name string) (host.Tool, bool, error) {
	t, ok := h.seen(name)
	return t, ok, nil
}

func (h *local) count() int { return h.Len() }

func (h *local) faulty() []*tool.Error { return h.faults }

// call goes by the word of who typed the command: grants and the yes are the
// operator's own.
func (h *local) call(ctx context.Context, c control.Call, a policy.Approver) control.Answer {
	return callAs(ctx, h.Host, c, callerPolicy{all: true, facts: h.cli.get()}, a)
}

// close ends the plugins. It has time of its own: what ended the work must
// not keep them from ending in good order.
func (h *local) close(ctx context.Context) error {
	defer h.onEnd()
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), closeTimeout)
	defer cancel()
	if err := h.Close(ctx); err != nil {
		return tool.Errorf(tool.CodeInternal, "the plugins could not be shut down in good order: %w", err)
	}
	return nil
}

// flatten takes joined errors apart.
func flatten(err error) []*tool.Error {
	if err == nil {
		return nil
	}
	// Only the outermost: a tool's error may have joined causes.
	joined, ok := err.(interface{ Unwrap() []error })
	if !ok {
		return []*tool.Error{tool.AsError(err)}
	}
	var out []*tool.Error
	for _, e := range joined.Unwrap() {
		out = append(out, flatten(e)...)
	}
	return out
}
