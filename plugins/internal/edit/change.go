// Package edit changes files for tools, and previews what a change would do. Start
// with [Change].
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Change is what is done to one file: all of the replacements, one after the other, or
// nothing.
type Change struct {
	Path         string
	Replacements []Replacement
}

// Apply changes the file in one step, see [workspace.Workspace.Change]; n is the
// number of replacements.
//
// # Errors
//
// [*Refused] if the file does not contain an Original, or not once. Nothing is changed
// then.
func (c Change) Apply(ctx context.Context, ws *workspace.Workspace) (w workspace.Written, n int, err error) {
	w, err = ws.Change(ctx, c.Path, func(old []byte, exists bool) (content []byte, err error) {
		content, n, err = c.replaceIn(old, exists)
		return content, err
	})
	if errors.Is(err, workspace.ErrChanged) {
		err = &Refused{Reason: err.Error()}
	}
	return w, n, err
}

// Preview returns the diff of what Apply would do now, or its error.
func (c Change) Preview(ctx context.Context, ws *workspace.Workspace) (tool.Result, error) {
	now, err := ws.Snapshot(ctx, c.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if err := now.Changeable(c.Path); err != nil {
		return tool.Result{}, err
	}
	content, _, err := c.replaceIn(now.Content, now.Exists)
	if err != nil {
		return tool.Result{}, err
	}
	return show(now, content), nil
}

// replaceIn returns the content with all replacements, and how many there are.
func (c Change) replaceIn(old []byte, exists bool) (content []byte, total int, err error) {
	content = old
	ends := bytes.Count(old, lf)
	allCRLF := ends > 0 && ends == bytes.Count(old, crlf)
	for i, r := range c.Replacements {
		var n int
		if content, n, err = r.in(workspace.Show(c.Path), content, exists, allCRLF); err != nil {
			if refused := (*Refused)(nil); errors.As(err, &refused) && len(c.Replacements) > 1 {
				err = &Refused{Reason: fmt.Sprintf("edit %d of %d: %s", i+1, len(c.Replacements), refused.Reason)}
			}
			return nil, 0, err
		}
		total, exists = total+n, true
	}
	return content, total, nil
}
