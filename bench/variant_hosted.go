package main

import (
	"cmp"
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/bench/internal/work"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// startHosted starts a plugin with toolhost.
func startHosted(c plugin.Carrier) func(context.Context, *bench) (*variant, error) {
	return func(ctx context.Context, b *bench) (*variant, error) {
		dir, err := b.plugins("hosted-"+string(c), "hosted", "bench")
		if err != nil {
			return nil, err
		}
		h, err := openHost(ctx, c, dir)
		if err != nil {
			return nil, err
		}
		err = h.call.do(ctx, work.Small())
		if err == nil {
			err = h.on(c)
		}
		if err != nil {
			h.end()
			return nil, err
		}
		return &variant{pid: h.Plugins()[0].PID, dial: shared(h.call), close: h.end}, nil
	}
}

// embedded is a host as a program embeds it, with its whole chain on, and a
// session that may call everything.
type embedded struct {
	*host.Host
	call call
}

// openHost loads a directory of plugins; without a carrier, on the default. Options of its own come last, and win.
func openHost(ctx context.Context, c plugin.Carrier, dir string, own ...host.Option) (*embedded, error) {
	made, err := host.New(append([]host.Option{
		host.WithAudit(discard{}), host.WithDefaults(func(all *plugin.Settings) {
			all.Carrier = cmp.Or(c, all.Carrier)
			all.Restart = plugin.RestartPolicy{Free: -1} // recovery kills it again and again
		}),
	}, own...)...)
	if err != nil {
		return nil, err
	}
	session := made.Session(host.WithGrants(work.Permission))
	h := &embedded{made, func(ctx context.Context, name string, arguments []byte) (string, error) {
		res, err := session.Execute(ctx, tool.Call{Name: name, Arguments: arguments})
		if err != nil {
			return "", err
		}
		if res.IsError {
			return "", errors.New(res.Text())
		}
		return res.Text(), nil
	}}
	if _, err := made.Load(ctx, dir); err != nil {
		h.end()
		return nil, err
	}
	return h, nil
}

// on makes sure that the plugins are spoken to as they should be: a host falls
// back to another carrier without a word, and so would what is measured.
func (h *embedded) on(c plugin.Carrier) error {
	for _, p := range h.Plugins() {
		if p.Carrier != c {
			return fmt.Errorf("plugin %s is %s and spoken to on %q, not on the %s", p.Name, p.State, p.Carrier, c)
		}
	}
	return nil
}

// end closes the host and with it its plugins.
func (h *embedded) end() {
	ctx, cancel := context.WithTimeout(context.Background(), closing)
	defer cancel()
	_ = h.Close(ctx)
}

// discard is a record that keeps nothing: what is measured is the chain.
type discard struct{}

func (discard) WantsArguments() bool { return false }

func (discard) Write(audit.Record) error { return nil }
