package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/edit"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const editDescription = `Replaces text in a file of the workspace, in one step.

original must occur exactly as given, including spaces and line breaks, and exactly once; with replace_all, every occurrence is replaced. If it does not, nothing is changed, and the error says where it occurs, or which lines are most similar. For several changes of one file give edits, which are made in turn: all of them or none. Changes that others make to the file meanwhile are not lost, and a file whose lines all end in CRLF keeps that. The file is written as by fs.write.`

// maxEdits bounds edits, in elements.
const maxEdits = 100

type editIn struct {
	Path       string    `json:"path" jsonschema:"the file to change, relative to the workspace"`
	Original   *string   `json:"original,omitempty" jsonschema:"the text to replace, exactly as it is in the file"`
	Modified   *string   `json:"modified,omitempty" jsonschema:"the text to put in its place"`
	ReplaceAll bool      `json:"replace_all,omitempty" jsonschema:"replace every occurrence"`
	Edits      []oneEdit `json:"edits,omitempty" jsonschema:"several changes, in place of original and modified; each is made to what those before it have left"`
}

type oneEdit struct {
	Original   string `json:"original"`
	Modified   string `json:"modified"`
	ReplaceAll bool   `json:"replace_all,omitempty"`
}

type editOut struct {
	Path     string `json:"path" jsonschema:"the file, relative to the workspace root"`
	Bytes    int64  `json:"bytes" jsonschema:"size of the file in bytes after the change"`
	Replaced int    `json:"replaced" jsonschema:"how many occurrences were replaced"`
}

// Text returns the result for a reader.
func (o editOut) Text() string {
	places := "1 place"
	if o.Replaced != 1 {
		places = fmt.Sprintf("%d places", o.Replaced)
	}
	return fmt.Sprintf("Replaced %s in %s, which has %d bytes now.", places, workspace.Show(o.Path), o.Bytes)
}

func editTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.edit", editDescription, workspace.In(current, editFile),
		pluginsdk.Title("Edit a file"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("filesystem", "destructive"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Argument("original", `{"type": "string", "minLength": 1}`),
		pluginsdk.Argument("modified", `{"type": "string"}`),
		pluginsdk.Argument("replace_all", `{"default": false}`),
		pluginsdk.Argument("edits", fmt.Sprintf(`{"minItems": 1, "maxItems": %d}`, maxEdits)),
		pluginsdk.Preview(workspace.In(current, previewEdit)),
	)
}

// change returns what the arguments ask for.
func (in editIn) change() (edit.Change, error) {
	edits := in.Edits
	switch single := in.Original != nil && in.Modified != nil; {
	case single && len(edits) == 0:
		edits = []oneEdit{{*in.Original, *in.Modified, in.ReplaceAll}}
	case len(edits) == 0:
		return edit.Change{}, errors.New("there is nothing to change (give original and modified, or edits)")
	case in.Original != nil || in.Modified != nil || in.ReplaceAll:
		return edit.Change{}, errors.New("edits take the place of original, modified and replace_all (give those in each edit)")
	}
	c := edit.Change{Path: in.Path}
	for _, e := range edits {
		if e.Original == "" {
			return edit.Change{}, fmt.Errorf("original is empty (give the text of %s that is to be replaced)", workspace.Show(in.Path))
		}
		c.Replacements = append(c.Replacements, edit.Replacement{Original: e.Original, Modified: e.Modified, All: e.ReplaceAll})
	}
	return c, nil
}

func editFile(ctx context.Context, ws *workspace.Workspace, in editIn) (editOut, error) {
	c, err := in.change()
	if err != nil {
		return editOut{}, err
	}
	done, n, err := c.Apply(ctx, ws)
	return editOut{Path: done.Path, Bytes: done.Bytes, Replaced: n}, err
}

func previewEdit(ctx context.Context, ws *workspace.Workspace, in editIn) (tool.Result, error) {
	c, err := in.change()
	if err != nil {
		return tool.Result{}, err
	}
	return c.Preview(ctx, ws)
}
