package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/edit"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const editDescription = `Replaces text in a file of the workspace, in one step.

original must occur in the file exactly as given, including spaces and line breaks, and exactly once; with replace_all, every occurrence is replaced. If it does not, nothing is changed: read the file again, and include more of the surrounding lines. Changes that others make to the file meanwhile are not lost. Apart from that, the file is written as fs.write does it.

Returns the path, the size of the whole file in bytes, and how many occurrences were replaced.`

type editIn struct {
	Path       string `json:"path" jsonschema:"the file to change, relative to the workspace root"`
	Original   string `json:"original" jsonschema:"the text to replace, exactly as it is in the file"`
	Modified   string `json:"modified" jsonschema:"the text to put in its place"`
	ReplaceAll bool   `json:"replace_all,omitempty" jsonschema:"whether to replace every occurrence of original; default false: it must occur exactly once"`
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
		pluginsdk.Argument("original", `{"minLength": 1}`),
		pluginsdk.Argument("replace_all", `{"default": false}`),
		pluginsdk.Preview(workspace.In(current, previewEdit)),
	)
}

func (in editIn) replacement() edit.Replacement {
	return edit.Replacement{Path: in.Path, Original: in.Original, Modified: in.Modified, All: in.ReplaceAll}
}

func editFile(ctx context.Context, ws *workspace.Workspace, in editIn) (editOut, error) {
	done, n, err := in.replacement().Apply(ctx, ws)
	return editOut{Path: done.Path, Bytes: done.Bytes, Replaced: n}, err
}

func previewEdit(ctx context.Context, ws *workspace.Workspace, in editIn) (tool.Result, error) {
	return in.replacement().Preview(ctx, ws)
}
