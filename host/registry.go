package host

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tool is an entry of the registry.
type Tool struct {
	tool.Definition
	// Owner is the plugin, or other provider, that the tool came with; empty: a
	// function of this process.
	Owner string `json:"plugin,omitempty"`
	// Alias is the name for models, which take fewer characters than names have
	// (^[a-zA-Z0-9_-]{1,64}$). No two tools share one, it stays as long as the tool
	// does, and calls by it find the tool.
	Alias string `json:"alias"`
	// Handler runs the tool itself, with nothing of a call's way around it.
	Handler tool.Handler `json:"-"`
	// Claimed is what the tool's source says of it. It differs from the definition
	// where the operator had another word, see [Override].
	Claimed tool.Definition `json:"-"`
	// Approval is which of its calls need a yes.
	Approval policy.Rule `json:"approval,omitempty"`
}

// entry is a tool as the registry keeps it: checked, compiled, and with its way
// laid once, or the promise of that. It is never changed.
type entry struct {
	def      tool.Definition // by the operator's word
	source   tool.Tool       // as it came
	override Override        // what is between the two
	digest   string          // of the definition
	alias    string          // given when it is published
	owner    string
	handler  tool.Handler                // the tool itself, by this host's name for it
	preview  tool.Handler                // nil: there is none
	settings *plugin.Settings            // of its plugin, or the host's defaults
	ready    func(context.Context) error // starts what the tool is in; nil: nothing needs to be started
	input    *schema.Schema
	output   *schema.Schema // nil: nothing is promised
	route    tool.Handler   // the way from validate on

	later func() (*entry, error) // nil: compiled; else what is above is not, see promise
}

func (e *entry) tool() Tool {
	return Tool{
		Definition: e.def.Clone(), Owner: e.owner, Alias: e.alias, Handler: e.handler, Claimed: e.source.Clone(), Approval: e.override.Approval,
	}
}

// snapshot is the registry at one moment. Readers take no lock: writers replace
// it whole. Tools that the operator has disabled are there too, to keep their names.
type snapshot struct {
	byName  map[string]*entry
	byAlias map[string]*entry
	sorted  []*entry
	listed  []*entry // those of sorted that are not disabled
	chosen  choices
}

func newSnapshot(byName, byAlias map[string]*entry, sorted []*entry) *snapshot {
	listed := sorted
	if slices.ContainsFunc(sorted, (*entry).disabled) {
		listed = slices.DeleteFunc(slices.Clone(sorted), (*entry).disabled)
	}
	return &snapshot{byName: byName, byAlias: byAlias, sorted: sorted, listed: listed}
}

func (e *entry) disabled() bool { return e.override.Disabled }

type registry struct {
	snap atomic.Pointer[snapshot]
	mu   sync.Mutex // writers'
}

func (r *registry) read() *snapshot {
	if s := r.snap.Load(); s != nil {
		return s
	}
	return &snapshot{}
}

// find is the tool that a call by that name runs; nil: there is none, or it is
// disabled.
func (r *registry) find(name string) *entry {
	if e := r.lookup(name); e != nil && !e.disabled() {
		return e
	}
	return nil
}

// lookup finds a tool by its name, or else its alias. No name is another tool's
// alias, so the order decides nothing.
func (r *registry) lookup(name string) *entry {
	s := r.read()
	if e := s.byName[name]; e != nil {
		return e
	}
	return s.byAlias[name]
}

// edit lets f change a copy of the names and publishes it if f allows.
func (r *registry) edit(f func(byName map[string]*entry) error) error {
	r.mu.Lock()
	defer r.mu.Unlock()
	byName := maps.Clone(r.read().byName)
	if byName == nil {
		byName = map[string]*entry{}
	}
	if err := f(byName); err != nil {
		return err
	}
	sorted := sortEntries(slices.Collect(maps.Values(byName)))
	r.snap.Store(newSnapshot(byName, r.giveAliases(byName, sorted), sorted))
	return nil
}

func sortEntries(all []*entry) []*entry {
	slices.SortFunc(all, func(a, b *entry) int { return cmp.Compare(a.def.Name, b.def.Name) })
	return all
}

// giveAliases names the new entries for models. A name that had an alias keeps it,
// whatever comes beside it, as models may have been told of it.
func (r *registry) giveAliases(byName map[string]*entry, sorted []*entry) map[string]*entry {
	before := r.read().byName
	byAlias := make(map[string]*entry, len(sorted))
	var fresh []*entry
	for _, e := range sorted {
		old := before[e.def.Name]
		if old == nil {
			fresh = append(fresh, e)
			continue
		}
		if e != old { // what is published is not written to
			e.alias = old.alias
		}
		byAlias[e.alias] = e
	}
	giveFresh(byName, byAlias, fresh)
	return byAlias
}

// giveFresh names entries for models that had no alias before.
func giveFresh(byName, byAlias map[string]*entry, fresh []*entry) {
	for _, e := range fresh {
		e.alias = llmschema.Alias(e.def.Name, func(alias string) bool {
			return byAlias[alias] != nil || byName[alias] != nil && alias != e.def.Name
		})
		byAlias[e.alias] = e
	}
}

// holder is who has an entry's name already, as a name or as an alias; nil:
// nobody does.
func (r *registry) holder(byName map[string]*entry, e *entry) *entry {
	return holderIn(byName, r.read().byAlias, e)
}

func holderIn(byName, byAlias map[string]*entry, e *entry) *entry {
	if there := byAlias[e.def.Name]; there != nil && there.def.Name != e.def.Name && byName[there.def.Name] != nil {
		return there
	}
	return byName[e.def.Name]
}

func (r *registry) add(e *entry) error {
	return r.edit(func(byName map[string]*entry) error {
		if there := r.holder(byName, e); there != nil {
			return takenError(e, there)
		}
		byName[e.def.Name] = e
		return nil
	})
}

func (r *registry) replace(e *entry) error {
	return r.edit(func(byName map[string]*entry) error {
		if byName[e.def.Name] == nil {
			return &tool.Error{
				Code: tool.CodeNotFound, Tool: e.def.Name, Stage: tool.StageRegister, Err: tool.ErrNotFound,
				Message: fmt.Sprintf("%v: %s", tool.ErrNotFound, e.def.Name), Hint: "Register adds a tool that is not there yet",
			}
		}
		byName[e.def.Name] = e
		return nil
	})
}

func (r *registry) upsert(e *entry) error {
	return r.edit(func(byName map[string]*entry) error {
		if there := r.holder(byName, e); there != nil && (there.owner != e.owner || there.def.Name != e.def.Name) {
			return takenError(e, there)
		}
		byName[e.def.Name] = e
		return nil
	})
}

// sync makes entries all that an owner has, in one step. Names that belong to
// others stay theirs and are reported.
func (r *registry) sync(owner string, entries []*entry) error {
	var taken []error
	err := r.edit(func(byName map[string]*entry) error {
		maps.DeleteFunc(byName, func(_ string, e *entry) bool { return e.owner == owner })
		for _, e := range entries {
			if there := r.holder(byName, e); there != nil {
				taken = append(taken, takenError(e, there))
				continue
			}
			byName[e.def.Name] = e
		}
		// A name may also be the alias of one that was taken away and has come back.
		for _, e := range entries {
			if there := r.holder(byName, e); byName[e.def.Name] == e && there != e {
				delete(byName, e.def.Name)
				taken = append(taken, takenError(e, there))
			}
		}
		return nil
	})
	return errors.Join(append(taken, err)...)
}

// join adds what several owners bring, as a sync for each in this order would, but
// publishes it once: a host that loads a hundred plugins would copy and sort the
// registry a hundred times. It gives an error for each owner.
func (r *registry) join(owners []string, entries [][]*entry) []error {
	out := make([]error, len(owners))
	if r.ownedBy(owners) { // what is there is to be replaced
		for i, owner := range owners {
			out[i] = r.sync(owner, entries[i])
		}
		return out
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	now := r.read()
	total := len(now.sorted)
	for _, of := range entries {
		total += len(of)
	}
	byName, byAlias := make(map[string]*entry, total), make(map[string]*entry, total)
	maps.Copy(byName, now.byName)
	maps.Copy(byAlias, now.byAlias)
	sorted := slices.Grow(slices.Clone(now.sorted), total-len(now.sorted))
	for i, of := range entries {
		var taken []error
		var fresh []*entry
		for _, e := range of {
			if there := holderIn(byName, byAlias, e); there != nil {
				taken = append(taken, takenError(e, there))
				continue
			}
			byName[e.def.Name] = e
			fresh = append(fresh, e)
		}
		giveFresh(byName, byAlias, sortEntries(fresh))
		sorted = append(sorted, fresh...)
		out[i] = errors.Join(taken...)
	}
	r.snap.Store(newSnapshot(byName, byAlias, sortEntries(sorted)))
	return out
}

// ownedBy reports whether one of the owners has a tool.
func (r *registry) ownedBy(owners []string) bool {
	return slices.ContainsFunc(r.read().sorted, func(e *entry) bool { return slices.Contains(owners, e.owner) })
}

func takenError(e, there *entry) error {
	hint := "rename one, or use Replace to exchange it"
	if e.owner != "" || there.def.Name != e.def.Name {
		hint = "rename one of the two; the first stays"
	}
	msg := fmt.Sprintf("%v: %s, by %s", tool.ErrAlreadyExists, e.def.Name, ownerName(there.owner))
	if there.def.Name != e.def.Name {
		msg = fmt.Sprintf("%v: %s is the name under which models call %s, by %s", tool.ErrAlreadyExists, e.def.Name, there.def.Name, ownerName(there.owner))
	}
	return &tool.Error{
		Code: tool.CodeAlreadyExists, Tool: e.def.Name, Plugin: e.owner, Stage: tool.StageRegister, Err: tool.ErrAlreadyExists,
		Message: msg, Hint: hint,
	}
}

func ownerName(owner string) string {
	if owner == "" {
		return "this program"
	}
	return "plugin " + owner
}
