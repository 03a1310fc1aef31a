package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// compiler makes entries of tools: what can be decided once per definition is not decided
// per call.
type compiler struct {
	rules    atomic.Pointer[overrides]
	defaults *plugin.Settings // of tools that do not come from a plugin
	audit    *chain.Audit     // nil: calls are not recorded
	rates    *chain.Rates     // count calls of limited tools
	logger   hclog.Logger

	middleware []tool.Middleware // of the embedding program

	mu    sync.Mutex // never held while waiting
	slots map[slotsKey]*chain.Slots
	asked map[string]*atomic.Int64 // the open questions of an owner's tools
}

// questionsOf returns the count of open questions that an owner's tools share.
func (c *compiler) questionsOf(owner string) *atomic.Int64 {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.asked[owner]
	if n == nil {
		n = new(atomic.Int64)
		c.asked[owner] = n
	}
	return n
}

// slotsKey identifies the slots that an owner's tools share.
type slotsKey struct {
	owner            string
	running, waiting int
}

// waiting returns how many calls wait for a slot of each owner's tools.
func (c *compiler) waiting() map[string]int {
	c.mu.Lock()
	defer c.mu.Unlock()
	out := map[string]int{}
	for key, s := range c.slots {
		out[key.owner] += s.Waiting()
	}
	return out
}

// slotsOf returns the slots that an owner's tools share.
func (c *compiler) slotsOf(e *entry) *chain.Slots {
	key := slotsKey{e.owner, e.settings.Limits.Running, e.settings.Limits.Waiting}
	c.mu.Lock()
	defer c.mu.Unlock()
	s, ok := c.slots[key]
	if !ok {
		s = chain.NewSlots(key.running, key.waiting)
		c.slots[key] = s
	}
	return s
}

// maxSubschemas bounds the schemas of one provider's tools together: compiling so many
// subschemas takes about three seconds and some 250 MB. It is ten for each of the most tools.
const maxSubschemas = 100_000

// Compile implements [roster.Registry]. It leaves out the tools that are refused, and those
// that come when the budget or ctx has ended. It returns nil if all of them are refused
// together.
func (c *compiler) Compile(ctx context.Context, l roster.Listing) ([]roster.Entry, error) {
	seen := make(map[string]bool, len(l.Tools))
	for _, t := range l.Tools {
		if seen[t.Name] {
			return nil, &tool.Error{
				Code: tool.CodeInvalidDefinition, Tool: shorten(t.Name), Plugin: l.Owner, Stage: tool.StageRegister,
				Message: fmt.Sprintf("plugin %s defines tool %.128q twice, so none of its tools are used", l.Owner, t.Name),
				Hint:    "report this to the plugin's author",
			}
		}
		seen[t.Name] = true
	}
	var faults []error
	entries := make([]roster.Entry, 0, len(l.Tools))
	budget := schema.NewBudget(maxSubschemas)
	for i, t := range l.Tools {
		if err := ctx.Err(); err != nil {
			why := "compiling its tools takes too long: " + err.Error()
			faults = append(faults, leftOut(l.Owner, l.Tools[i:], tool.CodeOf(err), why))
			break
		}
		e, err := c.compileListed(l, t, budget)
		if errors.Is(err, schema.ErrBudget) {
			why := fmt.Sprintf(
				"its tools have more than %d subschemas together, or schemas that take as much work", maxSubschemas)
			faults = append(faults, leftOut(l.Owner, l.Tools[i:], tool.CodeInvalidDefinition, why))
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

// compileListed makes an entry of one of an owner's tools.
func (c *compiler) compileListed(l roster.Listing, t tool.Tool, budget *schema.Budget) (*entry, error) {
	if t.Handler != nil {
		t.Handler = chain.Wrap(t.Handler, holding(l), refreshing(l))
	}
	if l.Plugin == nil && !l.Functions {
		t.Handler, t.Preview = chain.PassOn(t.Handler), chain.PassOn(t.Preview)
	}
	e, err := c.check(l.Owner, t, cmp.Or(l.Settings, c.defaults))
	if err != nil {
		return nil, err
	}
	if l.Plugin != nil {
		e.ready = l.Plugin.Ready
	}
	if l.Recalled {
		return c.lazyEntry(e), nil
	}
	return c.compile(e, budget)
}

// leftOut is the error for tools that were not looked at.
func leftOut(owner string, rest []tool.Tool, code tool.Code, why string) error {
	return &tool.Error{
		Code: code, Tool: shorten(rest[0].Name), Plugin: owner, Stage: tool.StageRegister,
		Message: fmt.Sprintf("%s: %d tools from %.128q on are refused: %s", ownerName(owner), len(rest), rest[0].Name, why),
		Hint:    "serve fewer tools, or smaller schemas",
	}
}

// entryOf makes an entry of a tool that the embedder registers.
func (c *compiler) entryOf(owner string, t tool.Tool) (*entry, error) {
	e, err := c.check(owner, t, c.defaults)
	if err != nil {
		return nil, err
	}
	return c.compile(e, nil)
}

// check makes an entry of a tool, with the operator's override, if nothing is wrong with
// its definition. It does not look at the schemas: the entry is not compiled.
func (c *compiler) check(owner string, t tool.Tool, s *plugin.Settings) (*entry, error) {
	if err := t.Check(); err != nil {
		return nil, signOwner(err, owner)
	}
	if t.Handler == nil {
		return nil, badTool(owner, t.Name, "the handler is nil")
	}
	t.Alias = "" // another host's, if anybody's
	rules := c.rules.Load()
	e := &entry{
		source: t, owner: owner, handler: t.Handler, preview: t.Preview, settings: s,
		rules: rules, override: rules.of(t.Name),
	}
	e.def = e.override.apply(t.Definition)
	e.limitTimeout()
	if !e.override.isZero() {
		if err := e.def.Check(); err != nil {
			return nil, badTool(owner, t.Name, "what is configured for it does not fit: %w", err)
		}
	}
	if reserved[e.def.Name] {
		return nil, &tool.Error{
			Code: tool.CodeAlreadyExists, Tool: e.def.Name, Plugin: owner, Stage: tool.StageRegister, Err: tool.ErrAlreadyExists,
			Message:      fmt.Sprintf("%v: %s is the host's own", tool.ErrAlreadyExists, e.def.Name),
			OperatorHint: "rename it under tools in the configuration",
		}
	}
	if e.def.Name != t.Name {
		e.handler, e.preview = renamed(t.Handler, t.Name, e.def.Name), renamed(t.Preview, t.Name, e.def.Name)
	}
	return e, nil
}

// compile makes the entry of a checked one: it compiles its schemas, unless it has them
// already, and builds its chain.
func (c *compiler) compile(checked *entry, budget *schema.Budget) (*entry, error) {
	made := *checked
	e := &made
	bad := func(format string, args ...any) error { return badTool(e.owner, e.source.Name, format, args...) }
	e.def = e.def.Clone()
	e.source.Definition = e.source.Clone()
	var err error
	if e.input == nil {
		if e.input, err = budget.CompileInput(e.def.InputSchema); err != nil {
			return nil, bad("input schema: %w", err)
		}
		if len(e.def.OutputSchema) > 0 {
			if e.output, err = budget.CompileOutput(e.def.OutputSchema); err != nil {
				return nil, bad("output schema: %w", err)
			}
		}
	}
	e.def.InputSchema = e.input.Text()
	text, err := json.Marshal(e.def)
	if err != nil {
		return nil, bad("its schemas are not JSON: %w", err)
	}
	for _, w := range e.warnings() {
		c.logger.Info("a tool's schema is not checked in full", "tool", e.def.Name, "plugin", e.owner, "warning", w)
	}
	e.digest = audit.Digest(text)
	e.chain = c.buildChain(e)
	return e, nil
}

// lazyEntry is compile for a tool that an earlier process compiled, and whose definition is
// the same: what takes time is left to the first call. A host that lists a thousand tools
// and calls one compiles one.
//
// That takes nothing on trust. No call is decided before its tool is compiled, with all
// checks; if that fails, for whatever reason, the call is refused.
func (c *compiler) lazyEntry(e *entry) *entry {
	checked := *e
	if len(e.def.InputSchema) == 0 {
		e.def.InputSchema = noArguments()
	}
	e.lazy = sync.OnceValues(func() (*entry, error) { return c.compile(&checked, nil) })
	return e
}

// current returns the entry as the overrides of the moment have it: the same one, unless
// they have changed for it since it was checked.
func (c *compiler) current(e *entry) (*entry, error) {
	rules := c.rules.Load()
	if e.rules == rules || rules.of(e.source.Name).equal(e.override) {
		return e, nil
	}
	return c.recompile(e)
}

// recompile makes an entry again, by the overrides of the moment.
func (c *compiler) recompile(e *entry) (*entry, error) {
	now, err := c.check(e.owner, e.source, e.settings)
	if err != nil {
		return nil, err
	}
	now.ready, now.input, now.output = e.ready, e.input, e.output
	if e.lazy != nil {
		return c.lazyEntry(now), nil
	}
	return c.compile(now, nil)
}

func badTool(owner, name, format string, args ...any) error {
	err := tool.Errorf(tool.CodeInvalidDefinition, "tool %q: "+format, append([]any{name}, args...)...)
	err.Tool, err.Plugin, err.Stage = name, owner, tool.StageRegister
	err.OperatorHint = "correct the tool's definition"
	return err
}

func signOwner(err error, owner string) error {
	var e *tool.Error
	if owner == "" || !errors.As(err, &e) {
		return err
	}
	signed := *e
	signed.Plugin, signed.Tool = owner, shorten(e.Tool)
	return &signed
}
