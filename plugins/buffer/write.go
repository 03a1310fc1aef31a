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

const writeDescription = `Writes a whole text file of the workspace, replacing an existing one. To change a part of a file, use propose_file_edit.

The write is atomic: if it fails, the old file is unchanged. Missing directories are made. An existing file keeps its permissions. A directory, a symbolic link, a special or a read-only file is refused.

The file becomes the session's buffer.`

type writeIn struct {
	Path    string `json:"path" jsonschema:"the file to write, relative to the workspace"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

func (b *buffers) writeTool() tool.Tool {
	return readable.Func("write_file", writeDescription, workspace.In(b.current, b.write),
		pluginsdk.Title("Write a file"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("buffer", "filesystem", "destructive"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Preview(workspace.In(b.current, previewWrite)),
	)
}

func (b *buffers) write(ctx context.Context, ws *workspace.Workspace, in writeIn) (workspace.Written, error) {
	done, err := ws.Write(ctx, in.Path, strings.NewReader(in.Content))
	if err == nil {
		b.last.set(ctx, done.Path)
	}
	return done, err
}

func previewWrite(ctx context.Context, ws *workspace.Workspace, in writeIn) (tool.Result, error) {
	return edit.PreviewWrite(ctx, ws, in.Path, in.Content)
}
