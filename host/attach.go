package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Attach adds the tools of a provider under an owner's name, and follows their
// changes where the provider is a [tool.Notifier]. The host closes the provider
// when it closes. It returns how many tools the registry holds.
//
// # Errors
//
// [tool.CodeAlreadyExists] where the owner's name is taken: nothing changes,
// and the provider stays the caller's to close. Errors of List, and of single
// tools (a bad definition, a name that belongs to another), which leave out
// those tools only and keep the provider attached; all are joined.
func (h *Host) Attach(ctx context.Context, owner string, p tool.Provider) (int, error) {
	if err := h.addSource(source{owner: owner, provider: p}); err != nil {
		return h.Len(), err
	}
	err := h.refresh(ctx, owner, p)
	h.watch(owner, p)
	return h.Len(), err
}

// addSource keeps the provider, if its owner's name is free and the host open.
func (h *Host) addSource(s source) error {
	if s.owner == "" {
		return &tool.Error{Code: tool.CodeInvalidDefinition, Stage: tool.StageRegister, Message: "a provider needs an owner's name"}
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() {
		return closedError(s.owner)
	}
	if i := slices.IndexFunc(h.sources, func(have source) bool { return have.owner == s.owner }); i >= 0 {
		return &tool.Error{
			Code: tool.CodeAlreadyExists, Plugin: s.owner, Stage: tool.StageRegister,
			Message: fmt.Sprintf("plugin %s is loaded already, from %s", s.owner, cmp.Or(h.sources[i].path, "another provider")),
			Hint:    "rename one of the two; the first stays",
		}
	}
	h.sources = append(h.sources, s)
	return nil
}

func closedError(owner string) error {
	return &tool.Error{
		Code: tool.CodeUnavailable, Plugin: owner, Stage: tool.StageRegister,
		Message: fmt.Sprintf("plugin %s is not loaded: the host is closed", owner), Hint: "make a new host",
	}
}

// refresh makes the registry hold what the provider lists now.
func (h *Host) refresh(ctx context.Context, owner string, p tool.Provider) error {
	defs, err := p.List(ctx)
	if err != nil {
		return err
	}
	return h.take(owner, p, defs)
}

// take makes definitions all that an owner has in the registry, in one step.
func (h *Host) take(owner string, p tool.Provider, defs []tool.Definition) error {
	seen := make(map[string]bool, len(defs))
	for _, d := range defs {
		if seen[d.Name] {
			return errors.Join(h.registry.sync(owner, nil), &tool.Error{
				Code: tool.CodeInvalidDefinition, Tool: d.Name, Plugin: owner, Stage: tool.StageRegister,
				Message: fmt.Sprintf("plugin %s defines tool %.128q twice, so none of its tools are used", owner, d.Name),
				Hint:    "report this to the plugin's author",
			})
		}
		seen[d.Name] = true
	}
	var faults []error
	entries := make([]*entry, 0, len(defs))
	for _, d := range defs {
		e, err := h.compile(owner, tool.Tool{Definition: d, Handler: p.Execute})
		if err != nil {
			faults = append(faults, err)
			continue
		}
		entries = append(entries, e)
	}
	return errors.Join(append(faults, h.registry.sync(owner, entries))...)
}

// watch follows a provider's change notices until it closes.
func (h *Host) watch(owner string, p tool.Provider) {
	n, ok := p.(tool.Notifier)
	if !ok {
		return
	}
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.closed.Load() { // Close waits for watchers, and for none that come later
		return
	}
	h.watchers.Go(func() {
		for range n.Changes() {
			if err := h.refresh(context.Background(), owner, p); err != nil {
				h.opts.logger.Warn("tools changed, and not all could be taken", "plugin", owner, "error", err)
			}
		}
	})
}
