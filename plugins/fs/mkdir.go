package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const mkdirDescription = `Makes a directory in the workspace, and those above it that are missing; one that exists is fine. Needed only for a directory that stays empty: fs.write and fs.move make those that they need.`

type mkdirIn struct {
	Path string `json:"path" jsonschema:"the directory to make, relative to the workspace"`
}

type mkdirOut struct {
	Path    string `json:"path" jsonschema:"the directory, relative to the workspace root"`
	Created bool   `json:"created" jsonschema:"whether it did not exist before"`
}

// Text returns the result for a reader.
func (o mkdirOut) Text() string {
	if o.Created {
		return "Made the directory " + workspace.Show(o.Path) + "."
	}
	return "The directory " + workspace.Show(o.Path) + " exists already."
}

func mkdirTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.mkdir", mkdirDescription, workspace.In(current, mkdir),
		pluginsdk.Title("Make a directory"),
		pluginsdk.Cautious(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("path", filePath),
	)
}

func mkdir(_ context.Context, ws *workspace.Workspace, in mkdirIn) (mkdirOut, error) {
	name, created, err := ws.MakeDir(in.Path)
	return mkdirOut{Path: name, Created: created}, err
}
