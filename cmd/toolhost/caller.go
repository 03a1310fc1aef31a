package main

import (
	"sync/atomic"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
)

// facts are what a caller is given, which a reload changes for the calls to come.
type facts struct{ now atomic.Pointer[setup.Caller] }

func (f *facts) set(c setup.Caller) { f.now.Store(&c) }

func (f *facts) get() setup.Caller {
	if c := f.now.Load(); c != nil {
		return *c
	}
	return setup.Caller{}
}

// visible are the tools of the host that commands see.
func (h *local) visible(f host.Filter) []host.Tool { return h.cli.get().Visible(h.Tools(f)) }

// seen is a tool of the host, if commands see it.
func (h *local) seen(name string) (host.Tool, bool) {
	t, ok := h.Get(name)
	return t, ok && h.cli.get().Sees(t.Definition)
}
