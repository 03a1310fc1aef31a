package pluginrun

import (
	"errors"
	"fmt"
	"reflect"
	"slices"
	"sync/atomic"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ErrChanged is the cause of a [tool.CodeUnavailable] error that says that the plugin has
// changed the tool's definition since it was listed.
var ErrChanged = errors.New("the tool's definition has changed")

// description is what a plugin said of itself. It does not change, and runs that say the
// same share one.
type description struct{ wire.Description }

// published holds what a plugin said of itself last; nil: nothing yet.
type published struct{ atomic.Pointer[description] }

// recall stores what an earlier process said, unless a later one has.
func (p *published) recall(about wire.Description) { p.CompareAndSwap(nil, &description{about}) }

// store makes about the last description, and reports whether it differs from the one
// before, so that the host has to list the tools again. What the plugin can do besides
// tools (its features) depends on how it is run, and does not count.
func (p *published) store(about wire.Description) (changed bool) {
	before := p.Load()
	if before != nil {
		about.Features = before.Features
		if reflect.DeepEqual(before.Description, about) {
			return false
		}
	}
	p.Store(&description{about})
	return before != nil
}

// storeTools is store with other tools and all else as it is.
func (p *published) storeTools(tools []tool.Definition) (changed bool) {
	about := p.Load().Description
	about.Tools = tools
	return p.store(about)
}

// check refuses a call that was decided by a description that defines the tool differently
// from the last one; nil: it was decided by none. A run's description is the last one
// before calls can reach the run.
func (p *published) check(plugin string, decided *description, call tool.Call) error {
	now := p.Load()
	if decided == now || decided == nil {
		return nil
	}
	if was, is := decided.tool(call.Name), now.tool(call.Name); was != nil && is != nil && reflect.DeepEqual(was, is) {
		return nil
	}
	return unavailable(plugin, ErrChanged,
		fmt.Sprintf("plugin %s changed its definitions, so tool %s was not run", plugin, call.Name),
		"try again: the next call goes by the new definition").Of(call.Name, plugin)
}

// tool returns the definition of a tool; nil: there is none.
func (d *description) tool(name string) *tool.Definition {
	if d == nil {
		return nil
	}
	i := slices.IndexFunc(d.Tools, func(t tool.Definition) bool { return t.Name == name })
	if i < 0 {
		return nil
	}
	return &d.Tools[i]
}
