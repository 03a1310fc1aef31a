package host

import (
	"github.com/toolhost/toolhost/host/internal/roster"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/known"
	"github.com/toolhost/toolhost/internal/lockfile"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// changed reports that an entry is not what the operator gave its level to; nil: it is, or was not
// seen before, or the level is not lower than what its owner claims.
func (c *compiler) changed(e *entry) *plugin.ChangedTool {
	d, level := e.Given()
	if level == tool.Unset || e.given == nil || level >= d.Safety.Effective() {
		return nil
	}
	was, is := e.given(known.LevelKey(d.Name, level)), known.Definition(d)
	if was == "" || was == is {
		return nil
	}
	out := &plugin.ChangedTool{Tool: d.Name, Level: level, Text: lockfile.Changed(d.Name, was, is), Definition: is}
	c.logger.Warn("a tool has changed since it was given its level, and is dangerous until that is accepted",
		"plugin", e.owner, "tool", d.Name, "level", level, "change", out.Text, "accept", remedy.AcceptLevel.For(e.owner))
	return out
}

// keepLevels notes for which definitions the operator has given levels.
func (h *Host) keepLevels() {
	byOwner := map[string][]roster.Entry{}
	for _, e := range h.registry.read().sorted() {
		if _, level := e.Given(); e.given != nil && level != tool.Unset {
			byOwner[e.owner] = append(byOwner[e.owner], e)
		}
	}
	h.roster.KeepLevels(byOwner)
}

// changedTools returns the tools that are not what the operator gave their level to, by owner.
func (h *Host) changedTools() map[string][]plugin.ChangedTool {
	var out map[string][]plugin.ChangedTool
	for _, e := range h.registry.read().sorted() {
		if e.changed != nil {
			if out == nil {
				out = map[string][]plugin.ChangedTool{}
			}
			out[e.owner] = append(out[e.owner], *e.changed)
		}
	}
	return out
}

// AcceptLevels gives the tools of a plugin, or of a server, that have changed since they were given a
// level ([plugin.Status.Changed]) that level as they are now. See [WithState].
//
// # Errors
//
// [tool.CodeNotFound] if there is no such plugin; those of writing its record.
func (h *Host) AcceptLevels(name string) error {
	if err := h.roster.AcceptLevels(name, h.changedTools()[name]); err != nil {
		return err
	}
	return h.override(h.compiler.rules.Load())
}
