package main

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/edit"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const writeDescription = `Writes a whole text file of the workspace, replacing an existing one. To change a part of a file, use fs.edit.

The write is atomic: if it fails, the old file is unchanged. Missing directories are made. An existing file keeps its permissions. A directory, a symbolic link, a special or a read-only file is refused.`

type writeIn struct {
	Path    string `json:"path" jsonschema:"the file to write, relative to the workspace"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

func writeTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.write", writeDescription, workspace.In(current, write),
		pluginsdk.Title("Write a file"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("filesystem", "destructive"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Preview(workspace.In(current, previewWrite)),
	)
}

func write(ctx context.Context, ws *workspace.Workspace, in writeIn) (workspace.Written, error) {
	return ws.Write(ctx, in.Path, strings.NewReader(in.Content))
}

func previewWrite(ctx context.Context, ws *workspace.Workspace, in writeIn) (tool.Result, error) {
	return edit.PreviewWrite(ctx, ws, in.Path, in.Content)
}
