package host

import (
	"cmp"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/schema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tool is an entry of the registry.
type Tool struct {
	tool.Definition
	// Owner is the plugin, or other provider, that the tool came with; empty: a
	// function of this process.
	Owner string `json:"plugin,omitempty"`
	// Handler runs the tool itself, with nothing of a call's way around it.
	Handler tool.Handler `json:"-"`
}

// entry is a tool as the registry keeps it: checked, compiled, and with its way
// laid once. It is never changed.
type entry struct {
	def     tool.Definition
	owner   string
	handler tool.Handler // the tool itself
	input   *schema.Schema
	route   tool.Handler // the way from validate on
}

func (e *entry) tool() Tool {
	return Tool{Definition: e.def.Clone(), Owner: e.owner, Handler: e.handler}
}

// snapshot is the registry at one moment. Readers take no lock: writers replace
// it whole.
type snapshot struct {
	byName map[string]*entry
	sorted []*entry
}

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

func (r *registry) lookup(name string) *entry { return r.read().byName[name] }

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
	sorted := slices.SortedFunc(maps.Values(byName), func(a, b *entry) int { return cmp.Compare(a.def.Name, b.def.Name) })
	r.snap.Store(&snapshot{byName: byName, sorted: sorted})
	return nil
}

func (r *registry) add(e *entry) error {
	return r.edit(func(byName map[string]*entry) error {
		if there := byName[e.def.Name]; there != nil {
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
		if there := byName[e.def.Name]; there != nil && there.owner != e.owner {
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
			if there := byName[e.def.Name]; there != nil {
				taken = append(taken, takenError(e, there))
				continue
			}
			byName[e.def.Name] = e
		}
		return nil
	})
	return errors.Join(append(taken, err)...)
}

func takenError(e, there *entry) error {
	hint := "rename one, or use Replace to exchange it"
	if e.owner != "" {
		hint = "rename one of the two; the first stays"
	}
	return &tool.Error{
		Code: tool.CodeAlreadyExists, Tool: e.def.Name, Plugin: e.owner, Stage: tool.StageRegister, Err: tool.ErrAlreadyExists,
		Message: fmt.Sprintf("%v: %s, by %s", tool.ErrAlreadyExists, e.def.Name, ownerName(there.owner)), Hint: hint,
	}
}

func ownerName(owner string) string {
	if owner == "" {
		return "this program"
	}
	return "plugin " + owner
}
