package plugin

import (
	"context"
	"errors"
	"fmt"
	"reflect"
	"slices"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// ErrChanged is the cause of a [tool.CodeUnavailable] error that says the plugin
// defines the tool otherwise now than it did when the tool was listed.
var ErrChanged = errors.New("the tool's definition has changed")

// edition is what a plugin said of itself. Runs that say the same share one.
type edition struct{ about wire.Description }

// Recall tells the plugin what it said of itself in an earlier process, so that its
// tools are known before it is started. What it says when it runs is compared with
// that. It changes nothing where the plugin was asked already.
func (p *Plugin) Recall(about wire.Description) {
	p.edition.CompareAndSwap(nil, &edition{about})
}

// Description is what the plugin said of itself last; false: nothing yet.
func (p *Plugin) Description() (wire.Description, bool) {
	ed := p.edition.Load()
	if ed == nil {
		return wire.Description{}, false
	}
	return ed.about, true
}

// Environment is what a process of the plugin is given, NAME=value, without the few
// variables of the handshake.
func (p *Plugin) Environment() []string { return p.cfg.environment() }

// Tools are the tools as the plugin claims them. It starts the plugin where it was
// never asked. What the definitions hold is shared, and must not be changed.
//
// Of a plugin that offers previews, every tool has one; that of a tool which has
// none itself answers with [tool.CodeNotFound].
//
// The handlers run a call only as long as the plugin defines their tool as it is
// defined here: who decided about the call, decided by that definition.
//
// # Errors
//
// Those of [Plugin.List]. Of the handlers: those of [Plugin.Execute], and
// [tool.CodeUnavailable] with [ErrChanged] as cause.
func (p *Plugin) Tools(ctx context.Context) ([]tool.Tool, error) {
	ed, err := p.known(ctx)
	if err != nil {
		return nil, err
	}
	run := func(ctx context.Context, call tool.Call) (tool.Result, error) {
		return p.execute(ctx, call, ed, (*instance).execute)
	}
	var preview tool.Handler
	if slices.Contains(ed.about.Features, wire.FeaturePreview) {
		preview = func(ctx context.Context, call tool.Call) (tool.Result, error) {
			return p.execute(ctx, call, ed, (*instance).preview)
		}
	}
	out := make([]tool.Tool, len(ed.about.Tools))
	for i, d := range ed.about.Tools {
		out[i] = tool.Tool{Definition: d, Handler: run, Preview: preview}
	}
	return out, nil
}

// known is the newest edition. It starts the plugin where there is none.
func (p *Plugin) known(ctx context.Context) (*edition, error) {
	if ed := p.edition.Load(); ed != nil && !p.isClosed() {
		return ed, nil
	}
	if _, err := p.ready(ctx); err != nil {
		return nil, err
	}
	return p.edition.Load(), nil
}

func (p *Plugin) isClosed() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.closed
}

// publish makes what a run says the newest edition, and reports whether it is another
// than before, so that the host has to list the tools again. What the plugin can do beside
// tools (its features) depends on how it is run, and does not count.
func (p *Plugin) publish(about wire.Description) (changed bool) {
	before := p.edition.Load()
	if before != nil {
		about.Features = before.about.Features
		if reflect.DeepEqual(before.about, about) {
			return false
		}
	}
	p.edition.Store(&edition{about})
	return before != nil
}

// check refuses a call that was decided by what an older edition says of the tool.
// A run's edition is the newest before calls can reach it.
func (p *Plugin) check(by *edition, call tool.Call) error {
	now := p.edition.Load()
	if by == now || by == nil {
		return nil
	}
	if was, is := by.definition(call.Name), now.definition(call.Name); was != nil && is != nil && reflect.DeepEqual(was, is) {
		return nil
	}
	return &tool.Error{
		Code: tool.CodeUnavailable, Tool: call.Name, Plugin: p.Name(), Stage: tool.StageStart, Unsent: true, Err: ErrChanged,
		Message: fmt.Sprintf("plugin %s changed its definitions, so tool %s was not run", p.Name(), call.Name),
		Hint:    "try again: the next call goes by the new definition",
	}
}

func (ed *edition) definition(name string) *tool.Definition {
	if ed == nil {
		return nil
	}
	for i := range ed.about.Tools {
		if ed.about.Tools[i].Name == name {
			return &ed.about.Tools[i]
		}
	}
	return nil
}
