package main

import (
	"context"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const writeDescription = `Writes a text file of the workspace, whole, in place of what was there.

It happens in one step: readers see the old content or the new, and where the write fails the old file stays as it was. Missing directories are made. An existing file keeps its permissions. A directory, a symbolic link, a special file and a read-only file are refused.

Returns the path, the number of bytes written, and whether the file is new.`

type writeIn struct {
	Path    string `json:"path" jsonschema:"the file to write, relative to the workspace root"`
	Content string `json:"content" jsonschema:"the whole new content"`
}

type writeOut struct {
	Path    string `json:"path" jsonschema:"the file, relative to the workspace root"`
	Bytes   int64  `json:"bytes" jsonschema:"how many bytes were written"`
	Created bool   `json:"created" jsonschema:"whether there was no such file before"`
}

func writeTool(current *workspace.Current) tool.Tool {
	write := func(ctx context.Context, in writeIn) (writeOut, error) { return write(ctx, current, in) }
	return pluginsdk.Func("fs.write", writeDescription, write,
		pluginsdk.Title("Write a file"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("filesystem", "destructive"),
		pluginsdk.Argument("path", `{"pattern": "^[^/].*$"}`),
	)
}

func write(ctx context.Context, current *workspace.Current, in writeIn) (writeOut, error) {
	ws, err := current.Get()
	if err != nil {
		return writeOut{}, err
	}
	done, err := ws.Write(ctx, in.Path, strings.NewReader(in.Content))
	return writeOut(done), err
}
