package main

import (
	"context"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const moveDescription = `Moves or renames a file, a directory or a symbolic link within the workspace.

What exists at the new path is never replaced: delete it first. Missing directories above the new path are made. A special or read-only file is refused. Links, imports and the like that name the old path stay as they are.`

type moveIn struct {
	Path string `json:"path" jsonschema:"what to move, relative to the workspace"`
	To   string `json:"to" jsonschema:"its new path, relative to the workspace, with its new name"`
}

type moveOut struct {
	Path string         `json:"path" jsonschema:"the new path, relative to the workspace root"`
	Kind workspace.Kind `json:"kind" jsonschema:"file, dir or symlink"`
	From string         `json:"from" jsonschema:"the old path"`
}

// Text returns the result for a reader.
func (o moveOut) Text() string {
	return fmt.Sprintf("Moved %s (%s) to %s.", workspace.Show(o.From), o.Kind, workspace.Show(o.Path))
}

func moveTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.move", moveDescription, workspace.In(current, move),
		pluginsdk.Title("Move a file"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("filesystem", "destructive"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Argument("to", filePath),
		pluginsdk.Preview(workspace.In(current, previewMove)),
	)
}

func move(_ context.Context, ws *workspace.Workspace, in moveIn) (moveOut, error) {
	moved, err := ws.Move(in.Path, in.To)
	return moveOut{Path: moved.Path, Kind: moved.Kind, From: in.Path}, err
}

func previewMove(_ context.Context, ws *workspace.Workspace, in moveIn) (tool.Result, error) {
	info, err := ws.Movable(in.Path, in.To)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(fmt.Sprintf("Moves %s to %s.\n", describe(info), workspace.Show(in.To))), nil
}
