package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// closeTimeout bounds the shutdown of all plugins: a plugin may take 5 s to
// drain and 2 s to go by itself.
const closeTimeout = 10 * time.Second

// opened is a host with its plugins loaded, and why some were not.
type opened struct {
	*host.Host
	dirs   []string
	faults []*tool.Error
}

// withHost loads the plugins, warns of those that cannot be used, runs f, and
// shuts all down, whatever happened.
func (a *app) withHost(ctx context.Context, f func(*opened) error, opts ...host.Option) error {
	h, err := a.open(ctx, opts...)
	if err != nil {
		return err
	}
	for _, fault := range h.faults {
		a.warn(fault)
	}
	return errors.Join(f(h), h.shutDown(ctx))
}

// open loads the plugins that the flags name. Those of which nothing is remembered are
// started; the ones that do not start are faults of the host that comes back, and no error.
func (a *app) open(ctx context.Context, opts ...host.Option) (*opened, error) {
	dirs, err := a.pluginDirs()
	if err != nil {
		return nil, err
	}
	logger, err := a.logger()
	if err != nil {
		return nil, err
	}
	carrier, err := plugin.ParseCarrier(a.carrier)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	made, err := host.New(slices.Concat(opts, cache(), []host.Option{
		host.WithRoot(a.root), host.WithLogger(logger), host.WithCarrier(carrier),
	})...)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	h := &opened{Host: made, dirs: dirs}
	_, err = h.Load(ctx, dirs...)
	h.faults = flatten(err)
	if err := h.unusable(ctx); err != nil {
		return nil, errors.Join(err, h.shutDown(ctx))
	}
	return h, nil
}

// unusable says why nothing can be done with what was loaded; nil: something
// can.
func (h *opened) unusable(ctx context.Context) error {
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

// shutDown ends the plugins. It has time of its own: what ended the work must
// not keep them from ending in good order.
func (h *opened) shutDown(ctx context.Context) error {
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

// emptyNote explains a list with nothing in it; empty: there are plugins.
func (h *opened) emptyNote() string {
	if len(h.Plugins()) > 0 || len(h.faults) > 0 {
		return ""
	}
	note := fmt.Sprintf("no plugins in %s: copy plugin binaries there", strings.Join(h.dirs, " and "))
	if n := len(h.Skipped()); n > 0 {
		note += fmt.Sprintf(" (skipped there: %d, see toolhost plugins)", n)
	}
	return note
}

// status is the plugin of that name.
func (h *opened) status(name string) (plugin.Status, bool) {
	all := h.Plugins()
	i := slices.IndexFunc(all, func(s plugin.Status) bool { return s.Name == name })
	if i < 0 {
		return plugin.Status{}, false
	}
	return all[i], true
}

// toolsOf are the names of a plugin's tools.
func (h *opened) toolsOf(name string) []string {
	names := []string{}
	for _, t := range h.Tools(host.Filter{}) {
		if t.Owner == name {
			names = append(names, t.Name)
		}
	}
	return names
}
