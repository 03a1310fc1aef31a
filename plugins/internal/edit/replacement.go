// Package edit changes files for tools, and shows beforehand what a change would
// do. Start with [Replacement], or with [Write] for whole files.
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
	// Original is the text that the file has to hold.
	Original string
	Modified string
	// All replaces Original wherever it stands; else it has to stand there
	// exactly once.
	All bool
	// Create makes a file of Modified where Original is empty and there is no
	// file, or an empty one.
	Create bool
}

// Refused says that a file does not hold what is to be replaced in it.
type Refused struct{ Reason string }

func (r *Refused) Error() string { return r.Reason }

func refuse(format string, args ...any) error {
	return &Refused{Reason: fmt.Sprintf(format, args...)}
}

// Apply replaces in the file, in one step, see [workspace.Workspace.Change]; n
// is how often.
//
// # Errors
//
// [*Refused] where the file does not hold Original, or not once; nothing is
// changed then.
func (r Replacement) Apply(ctx context.Context, ws *workspace.Workspace) (w Written, n int, err error) {
	done, err := ws.Change(ctx, r.Path, func(old []byte, exists bool) (content []byte, err error) {
		content, n, err = r.in(old, exists)
		return content, err
	})
	if errors.Is(err, workspace.ErrChanged) {
		err = &Refused{Reason: err.Error()}
	}
	return Written(done), n, err
}

// Preview is the diff of what Apply would do now, or its error.
func (r Replacement) Preview(ctx context.Context, ws *workspace.Workspace) (tool.Result, error) {
	now, err := ws.Now(ctx, r.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if err := now.Changeable(r.Path); err != nil {
		return tool.Result{}, err
	}
	content, _, err := r.in(now.Content, now.Exists)
	if err != nil {
		return tool.Result{}, err
	}
	return show(now, content), nil
}

// in is the content after the replacement, and how often it was made.
func (r Replacement) in(old []byte, exists bool) ([]byte, int, error) {
	original, modified := []byte(r.Original), []byte(r.Modified)
	name := workspace.Show(r.Path)
	switch {
	case len(original) == 0:
		return r.create(old, exists)
	case !exists:
		return nil, 0, refuse("there is no file %s", name)
	case bytes.Equal(original, modified):
		return nil, 0, refuse("original and modified are the same, so that nothing would change in %s", name)
	}
	n := bytes.Count(old, original)
	switch {
	case n == 0:
		return nil, 0, missing(name, old, original)
	case !r.All && bytes.Index(old, original) != bytes.LastIndex(old, original):
		return nil, 0, refuse("%s holds original more than once (take in more of the lines around it, so that it stands there once)", name)
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
		return nil, 0, refuse("%s exists and is not empty, while original is empty (give the text that is to be replaced)", name)
	case exists && r.Modified == "":
		return nil, 0, refuse("original and modified are both empty, so that nothing would change in %s", name)
	}
	return []byte(r.Modified), 1, nil
}

// missing says that the file does not hold the text, and why that may be.
func missing(name string, old, original []byte) error {
	crlf, lf := []byte("\r\n"), []byte("\n")
	if bytes.Contains(bytes.ReplaceAll(old, crlf, lf), bytes.ReplaceAll(original, crlf, lf)) {
		return refuse("%s does not hold original: the ends of its lines are others (CRLF and LF are told apart)", name)
	}
	return refuse("%s does not hold original: it has changed, or original was not copied exactly", name)
}
