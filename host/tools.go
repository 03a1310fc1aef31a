package host

import (
	"context"
	"iter"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Register adds a function of this process. What the host does not check of its schemas is
// logged, and in [Tool.Warnings].
//
// # Errors
//
// [tool.CodeInvalidDefinition] with the reason, for an empty name also
// [tool.ErrEmptyName]; [tool.ErrAlreadyExists] if the name is taken: the
// first still answers.
func (h *Host) Register(t tool.Tool) error {
	e, err := h.compiler.entryOf("", t)
	if err != nil {
		return err
	}
	return h.registry.add(e)
}

// Replace replaces an existing tool, whoever owns it, by a function of this process. The
// next call runs the new one.
//
// # Errors
//
// Those of Register for the definition; [tool.ErrNotFound] if no tool has that name.
func (h *Host) Replace(t tool.Tool) error {
	e, err := h.compiler.entryOf("", t)
	if err != nil {
		return err
	}
	return h.registry.replace(e)
}

// Upsert adds a tool under an owner, or replaces the owner's tool of that name, and returns
// it.
//
// # Errors
//
// Those of Register for the definition; [tool.ErrAlreadyExists] if the name
// belongs to another owner.
func (h *Host) Upsert(owner string, t tool.Tool) (Tool, error) {
	e, err := h.compiler.entryOf(owner, t)
	if err != nil {
		return Tool{}, err
	}
	if e, err = h.registry.upsert(e); err != nil {
		return Tool{}, err
	}
	added := e.tool()
	made, err := e.compiled()
	if err == nil {
		added.Warnings = made.warnings()
	}
	return added, err
}

// Remove removes one tool that was registered ([Host.Register], [Host.Replace], [Host.Upsert]), by its name or
// its alias. Calls under way are not affected. A plugin that serves a tool of that name gets it.
//
// # Errors
//
// [tool.ErrNotFound] if no tool has that name; [tool.CodeInvalidArguments] if it came from a plugin or another
// provider, which would list it again.
func (h *Host) Remove(name string) error {
	err := h.registry.remove(name)
	if err == nil {
		h.roster.ReturnNames()
	}
	return err
}

// Unregister removes all tools of an owner in one step. Calls under way are not affected. If
// the owner is a plugin or an attached provider, it is detached, as by [Host.Detach] but
// without waiting for its end. A plugin that serves tools of these names gets them.
func (h *Host) Unregister(owner string) {
	if q := h.compiler.queue.Load(); q != nil && q.owner == owner {
		h.compiler.queue.CompareAndSwap(q, nil)
	}
	h.roster.Unregister(owner)
}

// Get returns the tool of that name, or with that alias.
func (h *Host) Get(name string) (Tool, bool) {
	e := h.registry.find(name)
	if e == nil {
		return Tool{}, false
	}
	t := e.tool()
	if compiled, err := e.compiled(); err == nil {
		t.Warnings = compiled.warnings()
	}
	return t, true
}

// OwnerOf returns what the tool of that name, or with that alias, came with, as [Tool.Owner] has it;
// false: there is none.
func (h *Host) OwnerOf(name string) (owner string, ok bool) {
	e := h.registry.find(name)
	if e == nil {
		return "", false
	}
	return e.owner, true
}

// Tools returns the tools that pass the filter, sorted by name. The caller owns them.
func (h *Host) Tools(f Filter) []Tool {
	now := h.registry.read()
	chosen := now.chosen.of(f, now.listed())
	out := make([]Tool, len(chosen))
	for i, e := range chosen {
		out[i] = e.tool()
	}
	return out
}

// names returns those of all tools, sorted.
func (h *Host) names() []string {
	listed := h.registry.read().listed()
	out := make([]string, len(listed))
	for i, e := range listed {
		out[i] = e.def.Name
	}
	return out
}

// Claims yields the name that its owner gave each tool, and the one that callers see, also of tools that the
// operator has disabled.
func (h *Host) Claims() iter.Seq2[string, string] {
	all := h.registry.read().sorted()
	return func(yield func(claimed, seen string) bool) {
		for _, e := range all {
			if !yield(e.source.Name, e.def.Name) {
				return
			}
		}
	}
}

// Len returns the number of tools.
func (h *Host) Len() int { return len(h.registry.read().listed()) }

// List implements [tool.Provider]. It leaves out the host's own tools, see [Tool.Own].
func (h *Host) List(context.Context) ([]tool.Definition, error) {
	listed := h.registry.read().listed()
	out := make([]tool.Definition, 0, len(listed))
	for _, e := range listed {
		if !e.isOwn() {
			out = append(out, e.definition())
		}
	}
	return out, nil
}

// ValidateCall checks arguments as a call does, and runs nothing.
//
// # Errors
//
// [tool.ErrNotFound] for an unknown name; [tool.CodeInvalidArguments];
// [tool.CodeResourceExhausted] for arguments that would take too long to check.
func (h *Host) ValidateCall(name string, args []byte) error {
	e := h.registry.find(name)
	if e == nil {
		if h.registry.lookup(name) != nil {
			return h.unknown(name)
		}
		why, certain := h.roster.WhyMissing(name)
		return h.missing(name, why, certain)
	}
	made, err := e.compiled()
	if err != nil {
		return err
	}
	return chain.CheckArguments(context.Background(), made.input, name, args)
}
