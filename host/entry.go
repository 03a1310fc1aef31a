package host

import (
	"cmp"
	"context"
	"encoding/json"
	"slices"
	"sync"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
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
	// Approval is which of its calls need a yes.
	Approval policy.Rule `json:"approval,omitempty"`
	// Warnings says what the host does not check of the tool's schemas, such as a pattern
	// with lookaround, one line each. [Host.Get] and [Host.Upsert] set it, and lists do not: the schemas of
	// a tool that a cache remembers are compiled when it is first called.
	Warnings []string `json:"warnings,omitempty"`
}

// entry is a tool as the registry keeps it: checked, compiled, and with the chain of its
// calls built once; or it is lazy, and the rest is done by its first call. An entry never
// changes after it is published.
type entry struct {
	def      tool.Definition // with the operator's override
	source   tool.Tool       // as its owner defined it
	override Override
	rules    *overrides // that the override was one of
	digest   string     // of the definition
	alias    string     // given when it is published
	owner    string
	handler  tool.Handler                // the tool itself, by this host's name for it
	preview  tool.Handler                // nil: there is none
	settings *plugin.Settings            // of its plugin, or the host's defaults
	ready    func(context.Context) error // starts the tool's plugin; nil: nothing needs to be started
	input    *schema.Schema
	output   *schema.Schema // nil: the tool promises nothing
	chain    tool.Handler   // the steps of a call from validate on

	lazy func() (*entry, error) // compiles the tool; nil: it is compiled
}

// Name returns the tool's name in the registry.
func (e *entry) Name() string { return e.def.Name }

// ClaimedName returns the name that the tool's owner gave it.
func (e *entry) ClaimedName() string { return e.source.Name }

func (e *entry) tool() Tool {
	return Tool{
		Tool:  tool.Tool{Definition: e.definition(), Handler: e.handler, Preview: e.preview},
		Owner: e.owner, Claimed: e.source.Clone(), Approval: e.override.Approval,
	}
}

// warnings returns what is not checked of the schemas of a compiled entry.
func (e *entry) warnings() []string {
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

func (e *entry) disabled() bool { return e.override.Disabled }

// compiled returns the entry that calls go to: this one, or what its first call compiled.
func (e *entry) compiled() (*entry, error) {
	if e.lazy == nil {
		return e, nil
	}
	return e.lazy()
}

func sortEntries(all []*entry) []*entry {
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.def.Name, b.def.Name) })
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
