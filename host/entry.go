package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tool is a [tool.Tool] as the registry has it: with the operator's override, an alias, and
// where it came from. Its Handler and Preview run the tool itself, without the steps of a
// call: no grants, no approver, no record.
type Tool struct {
	tool.Tool
	// Owner is the plugin, or other provider, that the tool came with; empty: a
	// function of this process.
	Owner string `json:"plugin,omitempty"`
	// Claimed is what the tool's source says of it. It differs from the definition
	// if the operator decided otherwise, see [Override].
	Claimed tool.Definition `json:"-"`
	// Own says that it is the host's own, and reaches what an MCP server has besides tools: operators
	// see it in [Host.Tools], and models do not, neither in lists of sessions nor in searches.
	Own bool `json:"own,omitempty"`
	// Approval is which of its calls need a yes.
	Approval policy.Rule `json:"approval,omitempty"`
	// Warnings says what the host does not check of the tool's schemas, such as a pattern
	// with lookaround, one line each. [Host.Get] and [Host.Upsert] set it, and lists do not: the schemas of
	// a tool that a cache remembers are compiled when it is first called.
	Warnings []string `json:"warnings,omitempty"`
}

// origin is what the tools of one listing have in common.
type origin struct {
	compiler *compiler
	owner    string
	run      tool.Handler                // by its owner's name for the tool
	show     tool.Handler                // the preview; nil: there is none
	settings *plugin.Settings            // of the plugin, or the host's defaults
	ready    func(context.Context) error // starts the plugin; nil: nothing needs to be started
	given    func(key string) string     // for which definition a level was given; nil: that is not kept
	own      pluginrun.Own               // tells the host's own tools; nil: there are none
	lister   any                         // the source of the listing; nil: it is compiled again when it is listed again
}

// entry is a tool as the registry keeps it: checked, and small, as there may be a hundred thousand.
// What its calls need is compiled by the first of them, and for a while only, see [recent]. Nothing
// else of an entry changes after it is published.
type entry struct {
	*origin

	def      *tool.Definition // with the operator's override; never changes
	source   *tool.Definition // as its owner defined it; never changes
	override *Override
	rules    *overrides          // that the override was one of
	alias    string              // given when it is published
	changed  *plugin.ChangedTool // it is not what the operator gave its level to; nil: it is

	form atomic.Pointer[func() (*compiled, error)] // nil: the next call compiles it
}

// compiled is an entry with what its calls need, made once for all of them.
type compiled struct {
	*entry

	digest string // of the definition
	input  *schema.Schema
	output *schema.Schema // nil: the tool promises nothing
	chain  tool.Handler   // the steps of a call from validate on
}

// Name returns the tool's name in the registry.
func (e *entry) Name() string { return e.def.Name }

// Given implements [roster.Entry]. What runs without a question is as good as safe.
func (e *entry) Given() (*tool.Definition, tool.Safety) {
	if e.override.Approval == policy.AllowAll {
		return e.source, tool.Safe
	}
	return e.source, e.override.Safety
}

// ClaimedName returns the name that the tool's owner gave it.
func (e *entry) ClaimedName() string { return e.source.Name }

func (e *entry) tool() Tool {
	return Tool{
		Tool:  tool.Tool{Definition: e.definition(), Handler: e.handler(), Preview: e.preview()},
		Owner: e.owner, Claimed: e.source.Clone(), Own: e.isOwn(), Approval: e.override.Approval,
	}
}

// warnings returns what is not checked of the schemas.
func (e *compiled) warnings() []string {
	var out []string
	for what, s := range map[string]*schema.Schema{"arguments": e.input, "result": e.output} {
		if s == nil {
			continue
		}
		for _, w := range s.Warnings() {
			out = append(out, what+": "+w)
		}
	}
	slices.Sort(out)
	return out
}

// definition returns the definition with the alias, which its caller may change.
func (e *entry) definition() tool.Definition {
	d := e.def.Clone()
	d.Alias = e.alias
	return d
}

// isOwn reports whether it is one of the host's own tools, see [Tool.Own].
func (e *entry) isOwn() bool { return e.own != nil && e.own.IsOwn(e.source.Name) }

// isRegistered reports whether the embedding program registered it: it is in no listing of a source.
func (e *entry) isRegistered() bool { return e.lister == nil && e.ready == nil }

func (e *entry) disabled() bool { return e.override.Disabled }

// compiled returns what calls of the tool need. The first to ask compiles it, and others wait.
func (e *entry) compiled() (*compiled, error) {
	if form := e.form.Load(); form != nil {
		return (*form)()
	}
	form := sync.OnceValues(func() (*compiled, error) { return e.compiler.compile(e) })
	if !e.form.CompareAndSwap(nil, &form) {
		return e.compiled()
	}
	e.compiler.recent.add(e)
	return form()
}

// handler returns the tool itself, by this host's name for it, and preview what shows a call of it;
// nil: there is none.
func (e *entry) handler() tool.Handler { return e.named(e.run) }
func (e *entry) preview() tool.Handler { return e.named(e.show) }

func (e *entry) named(run tool.Handler) tool.Handler {
	if e.def.Name == e.source.Name {
		return run
	}
	return renamed(run, e.source.Name, e.def.Name)
}

// withAlias returns the entry with an alias, which is the same one unless it has another.
func (e *entry) withAlias(alias string) *entry {
	if e.alias == "" { // it has not been published
		e.alias = alias
	}
	if e.alias == alias {
		return e
	}
	return &entry{
		origin: e.origin, def: e.def, source: e.source, override: e.override, rules: e.rules, alias: alias, changed: e.changed,
	}
}

// compare compares the name of an entry with another.
func (e *entry) compare(name string) int { return cmp.Compare(e.def.Name, name) }

func sortEntries(all []*entry) []*entry {
	slices.SortFunc(all, func(a, b *entry) int { return a.compare(b.def.Name) })
	return all
}

// noArguments is the schema of a tool whose definition has none.
var noArguments = sync.OnceValue(func() json.RawMessage {
	s, err := schema.CompileInput(nil)
	if err != nil {
		panic(err)
	}
	return s.Text()
})
