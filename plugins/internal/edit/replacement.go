// Package edit changes files for tools, and previews what a change would do. Start
// with [Replacement].
package edit

import (
	"bytes"
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Replacement puts one text in place of another, byte for byte.
type Replacement struct {
	Path string
	// Original is the text that the file must contain.
	Original string
	Modified string
	// All replaces every occurrence of Original. Otherwise it must occur exactly
	// once.
	All bool
	// Create writes Modified to a file that is missing or empty, if Original is empty.
	Create bool
}

// Refused is the error for a file that does not contain what is to be replaced.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error {
	return &Refused{Reason: fmt.Sprintf(format, args...)}
}

// Apply changes the file in one step, see [workspace.Workspace.Change]; n is the
// number of replacements.
//
// # Errors
//
// [*Refused] if the file does not contain Original, or not once. Nothing is changed
// then.
func (r Replacement) Apply(ctx context.Context, ws *workspace.Workspace) (w workspace.Written, n int, err error) {
	w, err = ws.Change(ctx, r.Path, func(old []byte, exists bool) (content []byte, err error) {
		content, n, err = r.replaceIn(old, exists)
		return content, err
	})
	if errors.Is(err, workspace.ErrChanged) {
		err = &Refused{Reason: err.Error()}
	}
	return w, n, err
}

// Preview returns the diff of what Apply would do now, or its error.
func (r Replacement) Preview(ctx context.Context, ws *workspace.Workspace) (tool.Result, error) {
	now, err := ws.Snapshot(ctx, r.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if err := now.Changeable(r.Path); err != nil {
		return tool.Result{}, err
	}
	content, _, err := r.replaceIn(now.Content, now.Exists)
	if err != nil {
		return tool.Result{}, err
	}
	return show(now, content), nil
}

// replaceIn returns the content with the replacements, and how many there are.
func (r Replacement) replaceIn(old []byte, exists bool) ([]byte, int, error) {
	original, modified := []byte(r.Original), []byte(r.Modified)
	name := workspace.Show(r.Path)
	switch {
	case len(original) == 0:
		return r.create(old, exists)
	case !exists:
		return nil, 0, refuse("there is no file %s", name)
	case bytes.Equal(original, modified):
		return nil, 0, refuse("original and modified are the same, so nothing would change in %s", name)
	}
	n := bytes.Count(old, original)
	switch {
	case n == 0:
		return nil, 0, missing(name, old, original)
	case !r.All && bytes.Index(old, original) != bytes.LastIndex(old, original):
		return nil, 0, refuse("%s contains original more than once "+
			"(include more of the surrounding lines, so that it occurs once)", name)
	case len(old)+n*(len(modified)-len(original)) > workspace.MaxChange:
		return nil, 0, refuse("%s would be larger than %d bytes", name, workspace.MaxChange)
	}
	return bytes.ReplaceAll(old, original, modified), n, nil
}

func (r Replacement) create(old []byte, exists bool) ([]byte, int, error) {
	name := workspace.Show(r.Path)
	switch {
	case !r.Create:
		return nil, 0, refuse("original is empty (give the text of %s that is to be replaced)", name)
	case len(old) > 0:
		return nil, 0, refuse("%s exists and is not empty, while original is empty "+
			"(give the text that is to be replaced)", name)
	case exists && r.Modified == "":
		return nil, 0, refuse("original and modified are both empty, so nothing would change in %s", name)
	}
	return []byte(r.Modified), 1, nil
}

// missing returns the refusal of a file that does not contain the text.
func missing(name string, old, original []byte) error {
	crlf, lf := []byte("\r\n"), []byte("\n")
	if bytes.Contains(bytes.ReplaceAll(old, crlf, lf), bytes.ReplaceAll(original, crlf, lf)) {
		return refuse("%s does not contain original: the line endings differ (CRLF is not LF)", name)
	}
	return refuse("%s does not contain original: it has changed, or original was not copied exactly", name)
}
