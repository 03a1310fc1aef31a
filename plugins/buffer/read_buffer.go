package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const readBufferDescription = `Reads lines of a text file, numbered, from start to end, both included.

At most 1,000 lines and 50,000 characters are returned; if there are more, "[... truncated ...]" says at which line to go on. A start after the last line is an error, which says how many lines there are. A line is cut off after 2,000 characters.`

type readBufferIn struct {
	Buffer string `json:"buffer,omitempty" jsonschema:"the file, relative to the workspace; default: the one last read, searched or written in this session"`
	Start  int    `json:"start,omitempty" jsonschema:"the first line to read, from 1"`
	End    int    `json:"end,omitempty" jsonschema:"the last line to read; default: the last of the file"`
}

func (b *buffers) readBufferTool() tool.Tool {
	return pluginsdk.Func("read_buffer", readBufferDescription, workspace.In(b.current, b.readBuffer),
		pluginsdk.Title("Read lines of a file"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("buffer"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("buffer", bufferPath),
		pluginsdk.Argument("start", `{"minimum": 1, "default": 1}`),
		pluginsdk.Argument("end", `{"minimum": 1}`),
	)
}

func (b *buffers) readBuffer(ctx context.Context, ws *workspace.Workspace, in readBufferIn) (string, error) {
	var text string
	err := b.open(ctx, ws, in.Buffer, func(path string, s *lines.Scanner) (err error) {
		text, err = s.Numbered(workspace.Show(path), in.Start, in.End)
		return err
	})
	return text, err
}

// open calls f with the lines of a buffer, and makes it the session's buffer if f
// succeeds.
func (b *buffers) open(
	ctx context.Context, ws *workspace.Workspace, given string, f func(path string, s *lines.Scanner) error,
) error {
	path, err := b.last.get(ctx, given)
	if err != nil {
		return err
	}
	file, err := ws.Open(path)
	if err != nil {
		return err
	}
	defer func() { _ = file.Close() }()
	s := lines.NewScanner(workspace.Reader(ctx, file))
	isBinary, err := s.Binary()
	switch {
	case err != nil:
		return ws.Explain(path, err)
	case isBinary:
		return binary(path)
	}
	if err := f(path, s); err != nil {
		return err
	}
	b.last.set(ctx, path)
	return nil
}
