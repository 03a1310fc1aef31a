package main

import (
	"bytes"
	"context"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/plugins/internal/truncate"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const readFileDescription = `Reads the first 5,000 characters of a text file of the workspace; if there are more, a line with "[... truncated ...]" follows, and read_buffer reads any part of the file by line numbers. A binary file (with a NUL byte at its start) is refused; other bytes that are not UTF-8 are shown as U+FFFD.

The file becomes the session's buffer, which read_buffer and search_in_buffer use by default.`

// maxCharacters is how much read_file returns.
const maxCharacters = 5000

type readFileIn struct {
	Path string `json:"path" jsonschema:"the file to read, relative to the workspace"`
}

func (b *buffers) readFileTool() tool.Tool {
	return pluginsdk.Func("read_file", readFileDescription, workspace.In(b.current, b.readFile),
		pluginsdk.Title("Read a text file"),
		pluginsdk.Cautious(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("buffer", "filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("path", filePath),
	)
}

func (b *buffers) readFile(ctx context.Context, ws *workspace.Workspace, in readFileIn) (string, error) {
	f, err := ws.Open(in.Path)
	if err != nil {
		return "", err
	}
	defer func() { _ = f.Close() }()
	// One byte more than the characters can have, to see whether more follows.
	start, err := io.ReadAll(workspace.Reader(ctx, io.LimitReader(f, maxCharacters*utf8.UTFMax+1)))
	if err != nil {
		return "", ws.Explain(in.Path, err)
	}
	if bytes.IndexByte(start, 0) >= 0 {
		return "", binary(in.Path)
	}
	b.last.set(ctx, in.Path)
	text, _ := truncate.Text(string(start), maxCharacters)
	return strings.ToValidUTF8(text, "\uFFFD"), nil
}

func binary(path string) error {
	return fmt.Errorf("%s is a binary file, not text (the tool read of plugin fs returns such files)", workspace.Show(path))
}
