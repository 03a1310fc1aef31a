package host

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/checked"
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/inflight"
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

	functions inflight.Calls // of this process, which Close waits for

	answered  func(plugin, tool, call, by string, allowed bool) // see [chain.Question]
	published func() *snapshot                                  // what the registry has
	recent    recent                                            // entries that are compiled
	queue     atomic.Pointer[attachedQueue]                     // of calls of own tools; nil: there is none

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

// Compile implements [roster.Registry]. It leaves out the tools that are refused, and those
// that come when the budget or ctx has ended. It returns nil if all of them are refused
// together.
func (c *compiler) Compile(ctx context.Context, l roster.Listing) ([]roster.Entry, error) {
	there := c.listedBefore(l)
	if twice := repeated(l, there); twice != "" {
		return nil, tool.Errorf(tool.CodeInvalidDefinition,
			"plugin %s defines tool %.128q twice, so none of its tools are used", l.Owner, twice).
			Of(shorten(twice), l.Owner).At(callstage.Register).Try("report this to the plugin's author")
	}
	var faults []error
	entries := make([]roster.Entry, 0, len(l.Definitions))
	budget := schema.NewBudget(schema.ProviderBudget)
	from := c.originOf(l)
	for i, d := range l.Definitions {
		if there[i] != nil {
			entries = append(entries, there[i])
			continue
		}
		if err := ctx.Err(); err != nil {
			why := "compiling its tools takes too long: " + err.Error()
			faults = append(faults, leftOut(l.Owner, l.Definitions[i:], tool.CodeOf(err), why))
			break
		}
		e, err := c.compileListed(l, from, d, budget)
		if errors.Is(err, schema.ErrBudget) {
			why := fmt.Sprintf(
				"its tools have more than %d subschemas together, or schemas that take as much work", schema.ProviderBudget)
			faults = append(faults, leftOut(l.Owner, l.Definitions[i:], tool.CodeInvalidDefinition, why))
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

// repeated returns a name that several definitions have; empty: there is none. There are the entries of those that
// were listed before, each by one name: of checked definitions, which are sorted, only those next to others are compared.
func repeated(l roster.Listing, there []*entry) string {
	all := l.Definitions
	if l.Checked {
		for i := range max(len(all)-1, 0) {
			if all[i] == all[i+1] || (there[i] == nil || there[i+1] == nil) && all[i].Name == all[i+1].Name {
				return all[i].Name
			}
		}
		return ""
	}
	byName := func(a, b *tool.Definition) int { return cmp.Compare(a.Name, b.Name) }
	if !slices.IsSortedFunc(all, byName) {
		all = slices.Clone(all)
		slices.SortStableFunc(all, byName)
	}
	for i := range max(len(all)-1, 0) {
		if all[i].Name == all[i+1].Name {
			return all[i].Name
		}
	}
	return ""
}

// originOf returns what the tools of a listing have in common.
func (c *compiler) originOf(l roster.Listing) *origin {
	from := &origin{
		compiler: c, owner: l.Owner, settings: cmp.Or(l.Settings, c.defaults), run: l.Handler, show: l.Preview, own: l.Own, lister: l.Source,
	}
	if from.run != nil {
		from.run = chain.Wrap(from.run, holding(l), refreshing(l))
	}
	if l.Plugin != nil {
		from.ready, from.given = l.Plugin.Ready, l.Given
	} else if !l.Functions {
		from.run, from.show = chain.PassOn(from.run), chain.PassOn(from.show)
	}
	return from
}

// listedBefore returns the entries that the registry has of listed tools, if the same source has listed the same definitions
// before; nil: the tool is new, or another.
func (c *compiler) listedBefore(l roster.Listing) []*entry {
	out := make([]*entry, len(l.Definitions))
	if l.Source == nil {
		return out
	}
	now, rules := c.published(), c.rules.Load()
	var rest []*entry // after the last one found: of a hundred thousand checked tools, nearly all are the next
	for i, d := range l.Definitions {
		if len(rest) > 0 && rest[0].source == d && rest[0].lister == l.Source {
			out[i], rest = rest[0], rest[1:]
			continue
		}
		e := now.byName.get(cmp.Or(rules.of(d.Name).Name, d.Name))
		if e == nil || e.lister != l.Source || e.source != d && (l.Checked || !sameDefinition(e.source, d)) {
			continue
		}
		out[i] = e
		if l.Checked {
			all := now.sorted()
			at, _ := slices.BinarySearchFunc(all, e.def.Name, (*entry).compare)
			rest = all[at+1:]
		}
	}
	return out
}

// compileListed makes an entry of one of an owner's tools.
func (c *compiler) compileListed(l roster.Listing, from *origin, d *tool.Definition, budget *schema.Budget) (*entry, error) {
	if !l.Checked {
		d = new(d.Clone())
	}
	e, err := c.check(from, d)
	if err != nil || l.Recalled || l.Checked {
		// A tool that an earlier process compiled, or its provider, is compiled again by its first call:
		// a host that lists a thousand tools and calls one compiles one. That takes nothing on trust, as
		// a call is refused whose tool does not compile.
		return e, err
	}
	return e, c.admit(e, budget)
}

// leftOut is the error for tools that were not looked at.
func leftOut(owner string, rest []*tool.Definition, code tool.Code, why string) error {
	return tool.Errorf(code,
		"%s: %d tools from %.128q on are refused: %s", ownerName(owner), len(rest), rest[0].Name, why).
		Of(shorten(rest[0].Name), owner).At(callstage.Register).Try("serve fewer tools, or smaller schemas")
}

// entryOf makes an entry of a tool that the embedder registers.
func (c *compiler) entryOf(owner string, t tool.Tool) (*entry, error) {
	d := t.Clone()
	run, show := c.functions.Count(t.Handler, hostClosed), c.functions.Count(t.Preview, hostClosed)
	e, err := c.check(&origin{compiler: c, owner: owner, run: run, show: show, settings: c.defaults}, &d)
	if err != nil {
		return nil, err
	}
	return e, c.admit(e, nil)
}

// check makes an entry of a definition, which is not changed any more, with the operator's override,
// if nothing is wrong with it. It does not look at the schemas.
func (c *compiler) check(from *origin, d *tool.Definition) (*entry, error) {
	if err := d.Check(); err != nil {
		return nil, signOwner(err, from.owner)
	}
	if from.run == nil {
		return nil, badTool(from.owner, d.Name, "the handler is nil")
	}
	if d.Alias != "" { // another host's, if anybody's
		other := *d
		other.Alias = ""
		d = &other
	}
	rules := c.rules.Load()
	e := &entry{origin: from, source: d, def: d, rules: rules, override: rules.of(d.Name)}
	if limit := e.limited(d.Timeout); e.override != &noOverride || limit != d.Timeout || len(d.InputSchema) == 0 {
		def := e.override.apply(*d)
		def.Timeout = e.limited(def.Timeout)
		if e.changed = c.changed(e); e.changed != nil {
			def.Safety = tool.Dangerous
			if e.override.Approval == policy.AllowAll {
				asked := *e.override
				asked.Approval = policy.BySafety
				e.override = &asked
			}
		}
		if len(def.InputSchema) == 0 {
			def.InputSchema = noArguments()
		}
		e.def = &def
	}
	if !e.override.isZero() {
		if err := e.def.Check(); err != nil {
			return nil, badTool(from.owner, d.Name, "what is configured for it does not fit: %w", err)
		}
	}
	if reserved[e.def.Name] {
		return nil, tool.Errorf(tool.CodeAlreadyExists, "%w: %s is the host's own", tool.ErrAlreadyExists, e.def.Name).
			Of(e.def.Name, from.owner).At(callstage.Register).Fix("rename it under tools in the configuration")
	}
	return e, nil
}

// admit compiles the schemas of an entry that is not published yet, so that one which does not compile is refused.
// They are not kept: most tools are never called, and the first call compiles them again in 20 µs.
func (c *compiler) admit(e *entry, budget *schema.Budget) error {
	_, err := c.schemas(e, budget)
	return err
}

// schemas compiles the schemas of an entry, and logs what is not checked of them.
func (c *compiler) schemas(e *entry, budget *schema.Budget) (made *compiled, err error) {
	made = &compiled{entry: e}
	if made.input, made.output, err = checked.Compile(e.def, budget); err != nil {
		return nil, badTool(e.owner, e.source.Name, "%w", err)
	}
	for _, w := range made.warnings() {
		c.logger.Info("a tool's schema is not checked in full", "tool", e.def.Name, "plugin", e.owner, "warning", w)
	}
	return made, nil
}

// compile makes what calls of an entry need.
func (c *compiler) compile(e *entry) (*compiled, error) {
	made, err := c.schemas(e, nil)
	if err != nil {
		return nil, err
	}
	text, err := json.Marshal(e.def)
	if err != nil {
		return nil, badTool(e.owner, e.source.Name, "its schemas are not JSON: %w", err)
	}
	if made.digest = audit.Digest(text); e.settings.Unchecked && !e.isOwn() {
		made.input = anyArguments()
	}
	made.chain = c.buildChain(made)
	return made, nil
}

// anyArguments is the schema of arguments that the tool alone checks.
var anyArguments = sync.OnceValue(func() *schema.Schema {
	s, err := schema.CompileInput(json.RawMessage(`{"type":"object"}`))
	if err != nil {
		panic("host: " + err.Error()) // it compiles
	}
	return s
})

// current returns the entry as the overrides of the moment have it: the same one, unless
// they have changed for it since it was checked.
func (c *compiler) current(e *entry) (*entry, error) {
	rules := c.rules.Load()
	if e.rules == rules || rules.of(e.source.Name).equal(e.override) {
		return e, nil
	}
	return c.recompile(e)
}

// recompile makes an entry again, by the overrides of the moment. Its schemas stay as they are.
func (c *compiler) recompile(e *entry) (*entry, error) { return c.check(e.origin, e.source) }

func badTool(owner, name, format string, args ...any) error {
	return tool.Errorf(tool.CodeInvalidDefinition, "tool %q: "+format, append([]any{name}, args...)...).
		Of(name, owner).At(callstage.Register).Fix("correct the tool's definition")
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
