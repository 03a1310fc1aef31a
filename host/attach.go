package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Attach adds the tools of a provider under an owner's name, and follows their
// changes where the provider is a [tool.Notifier]. The host closes the provider
// when it closes. It returns how many tools the registry holds.
//
// # Errors
//
// [tool.CodeInvalidDefinition] for a nil provider or an owner without a name;
// [tool.CodeAlreadyExists] where the owner's name is taken: nothing changes,
// and the provider stays the caller's to close. Errors of List, a panic of it too,
// and of single tools (a bad definition, a name that belongs to another), which leave
// out those tools only and keep the provider attached; all are joined.
func (h *Host) Attach(ctx context.Context, owner string, p tool.Provider) (int, error) {
	if p == nil {
		return h.Len(), &tool.Error{
			Code: tool.CodeInvalidDefinition, Plugin: owner, Stage: tool.StageRegister,
			Message: fmt.Sprintf("the provider of %s is nil", ownerName(owner)), Hint: "attach one that is made",
		}
	}
	if err := h.addSource(source{owner: owner, provider: p}); err != nil {
		return h.Len(), err
	}
	err := h.refresh(ctx, owner, p)
	h.watch(owner, p, func() error { return h.refresh(context.Background(), owner, p) })
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
	var defs []tool.Definition
	err := h.contain(owner, func() (err error) {
		defs, err = p.List(ctx)
		return err
	})
	if err != nil {
		return err
	}
	var preview tool.Handler
	if previewer, ok := p.(tool.Previewer); ok {
		preview = previewer.Preview
	}
	tools := make([]tool.Tool, len(defs))
	for i, d := range defs {
		tools[i] = tool.Tool{Definition: d, Handler: p.Execute, Preview: preview}
	}
	h.ruling.RLock()
	defer h.ruling.RUnlock()
	entries, bad := entriesOf(ctx, owner, tools, h.compile)
	return errors.Join(bad, h.registry.sync(owner, entries))
}

// compiler makes an entry of an owner's tool, as far as the budget goes.
type compiler func(owner string, t tool.Tool, budget *schema.Budget) (*entry, error)

// maxSubschemas bounds the schemas of one provider's tools together: compiling so many
// subschemas takes about three seconds and some 250 MB. It is ten for each of the most tools.
const maxSubschemas = 100_000

// entriesOf leaves out the tools that are refused, and those that come when the budget or
// ctx has ended. The entries are nil where all of them are refused, together.
func entriesOf(ctx context.Context, owner string, tools []tool.Tool, compile compiler) ([]*entry, error) {
	seen := make(map[string]bool, len(tools))
	for _, t := range tools {
		if seen[t.Name] {
			return nil, &tool.Error{
				Code: tool.CodeInvalidDefinition, Tool: shorten(t.Name), Plugin: owner, Stage: tool.StageRegister,
				Message: fmt.Sprintf("plugin %s defines tool %.128q twice, so none of its tools are used", owner, t.Name),
				Hint:    "report this to the plugin's author",
			}
		}
		seen[t.Name] = true
	}
	var faults []error
	entries := make([]*entry, 0, len(tools))
	budget := schema.NewBudget(maxSubschemas)
	for i, t := range tools {
		if err := ctx.Err(); err != nil {
			faults = append(faults, leftOut(owner, tools[i:], tool.CodeOf(err), "compiling its tools takes too long: "+err.Error()))
			break
		}
		e, err := compile(owner, t, budget)
		if errors.Is(err, schema.ErrBudget) {
			why := fmt.Sprintf("its tools have more than %d subschemas together, or schemas that take as much work", maxSubschemas)
			faults = append(faults, leftOut(owner, tools[i:], tool.CodeInvalidDefinition, why))
			break
		}
		if err != nil {
			faults = append(faults, err)
			continue
		}
		entries = append(entries, e)
	}
	return entries, errors.Join(faults...)
}

// leftOut is the error for tools that were not looked at any more.
func leftOut(owner string, rest []tool.Tool, code tool.Code, why string) error {
	return &tool.Error{
		Code: code, Tool: shorten(rest[0].Name), Plugin: owner, Stage: tool.StageRegister,
		Message: fmt.Sprintf("%s: %d tools from %.128q on are refused: %s", ownerName(owner), len(rest), rest[0].Name, why),
		Hint:    "serve fewer tools, or smaller schemas",
	}
}

// watch follows a provider's change notices until it closes.
func (h *Host) watch(owner string, p tool.Provider, update func() error) {
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
		var changes <-chan struct{}
		if err := h.contain(owner, func() error { changes = n.Changes(); return nil }); err != nil {
			h.noteUpdate(owner, err)
			return
		}
		for {
			select {
			case _, more := <-changes:
				if !more {
					return
				}
			case <-h.life.Done(): // the channel may be nil, or stay open
				return
			}
			if err := update(); err != nil {
				h.noteUpdate(owner, err)
			}
		}
	})
}

func (h *Host) noteUpdate(owner string, err error) {
	h.opts.logger.Warn("tools changed, and not all could be taken", "plugin", owner, "error", err)
}

// follower takes a plugin's change notices, with no goroutine that waits for them.
type follower struct {
	mu     sync.Mutex
	update func() // nil: its tools are not registered yet
	missed bool   // a notice came before that
}

func (f *follower) tell() {
	f.mu.Lock()
	update := f.update
	f.missed = update == nil
	f.mu.Unlock()
	if update != nil {
		update()
	}
}

// follow runs update at each notice from now on, and for one that was missed.
func (f *follower) follow(update func()) {
	f.mu.Lock()
	f.update = update
	missed := f.missed
	f.mu.Unlock()
	if missed {
		update()
	}
}
