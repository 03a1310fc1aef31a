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

const deleteDescription = `Deletes a file, a symbolic link (not its target) or an empty directory of the workspace, for good. A special or read-only file is refused, and so is a directory with something in it: delete that first, one by one.`

type deleteIn struct {
	Path string `json:"path" jsonschema:"what to delete, relative to the workspace"`
}

type deleteOut struct {
	Path string         `json:"path" jsonschema:"what was deleted, relative to the workspace root"`
	Kind workspace.Kind `json:"kind" jsonschema:"file, dir or symlink"`
	Size int64          `json:"size" jsonschema:"bytes of a file; 0 for all else"`
}

// Text returns the result for a reader.
func (o deleteOut) Text() string {
	return "Deleted " + describe(workspace.Info{Entry: workspace.Entry{Path: o.Path, Kind: o.Kind, Size: o.Size}}) + "."
}

// describe returns what is at a path, for a sentence.
func describe(i workspace.Info) string {
	path := workspace.Show(i.Path)
	switch {
	case i.Kind == workspace.Dir:
		return "the directory " + path
	case i.Target != "":
		return fmt.Sprintf("the symbolic link %s to %s", path, workspace.Show(i.Target))
	case i.Kind == workspace.Symlink:
		return "the symbolic link " + path
	}
	return fmt.Sprintf("the file %s (%d bytes)", path, i.Size)
}

func deleteTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.delete", deleteDescription, workspace.In(current, remove),
		pluginsdk.Title("Delete a file"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("filesystem", "destructive"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Preview(workspace.In(current, previewDelete)),
	)
}

func remove(_ context.Context, ws *workspace.Workspace, in deleteIn) (deleteOut, error) {
	removed, err := ws.Remove(in.Path)
	return deleteOut{Path: removed.Path, Kind: removed.Kind, Size: removed.Size}, err
}

func previewDelete(ctx context.Context, ws *workspace.Workspace, in deleteIn) (tool.Result, error) {
	info, err := ws.Removable(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	if info.Kind == workspace.File {
		return edit.PreviewDelete(ctx, ws, in.Path)
	}
	return tool.Text("Deletes " + describe(info) + ".\n"), nil
}
