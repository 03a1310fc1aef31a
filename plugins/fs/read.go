package main

import (
	"context"
	"errors"
	"fmt"
	"mime"
	"net/http"
	"net/url"
	"os"
	"path"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/lines"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const readDescription = `Reads a file of the workspace. What is valid UTF-8 without NUL is returned as text, exactly as it is in the file, all else as a binary resource with a MIME type. A part at or after the end is empty text.

Without limit it returns at most 2,000 lines or 64 KiB; if there is more, a second text, "[... truncated ...]", says at which offset to go on. offset and limit are in bytes; the parts at 0, limit, 2*limit and so on make up the whole file.

With start_line or end_line it returns these lines, each after its number, without line endings: at most 1,000 lines and 50,000 characters; if there are more, "[... truncated ...]" says at which line to go on.`

type readIn struct {
	Path   string `json:"path" jsonschema:"the file to read, relative to the workspace"`
	Offset int64  `json:"offset,omitempty" jsonschema:"the byte to start at"`
	Limit  int64  `json:"limit,omitempty" jsonschema:"how many bytes to return; text may be up to 3 bytes longer, to complete its last character"`

	StartLine int `json:"start_line,omitempty" jsonschema:"the first line to return, from 1"`
	EndLine   int `json:"end_line,omitempty" jsonschema:"the last line to return; default: the last of the file"`
}

func readTool(current *workspace.Current) tool.Tool {
	return pluginsdk.Func("fs.read", readDescription, workspace.In(current, read),
		pluginsdk.Title("Read a file"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Argument("offset", `{"minimum": 0, "default": 0}`),
		pluginsdk.Argument("limit", fmt.Sprintf(`{"minimum": 1, "maximum": %d}`, maxRead)),
		pluginsdk.Argument("start_line", `{"minimum": 1}`),
		pluginsdk.Argument("end_line", `{"minimum": 1}`),
	)
}

func read(ctx context.Context, ws *workspace.Workspace, in readIn) (tool.Result, error) {
	// The host checks this, but a program that calls the function directly may not.
	if in.Offset < 0 || in.Limit < 0 || in.Limit > maxRead {
		return tool.Result{}, fmt.Errorf("offset must be at least 0 and limit between 1 and %d, not %d and %d",
			maxRead, in.Offset, in.Limit)
	}
	f, err := ws.Open(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	defer func() { _ = f.Close() }()
	if in.StartLine != 0 || in.EndLine != 0 {
		return readLines(ctx, ws, f, in)
	}
	part, err := readPart(ctx, f, in.Offset, in.Limit)
	if err != nil {
		return tool.Result{}, ws.Explain(in.Path, err)
	}
	var result tool.Result
	if text, ok := part.text(); ok {
		result = tool.Text(text)
	} else {
		result, err = resource(in, part.bytes())
	}
	if in.Limit == 0 && part.more {
		result.Content = append(result.Content, tool.TextContent{Text: part.note(in.Offset)})
	}
	return result, err
}

// readLines returns a range of lines.
func readLines(ctx context.Context, ws *workspace.Workspace, f *os.File, in readIn) (tool.Result, error) {
	if in.Offset != 0 || in.Limit != 0 {
		return tool.Result{}, errors.New("offset and limit count bytes, and start_line and end_line lines (give one or the other)")
	}
	s := lines.NewScanner(workspace.Reader(ctx, f))
	binary, err := s.Binary()
	switch {
	case err != nil:
		return tool.Result{}, ws.Explain(in.Path, err)
	case binary:
		return tool.Result{}, fmt.Errorf("%s is a binary file and has no lines (read it with offset and limit)", workspace.Show(in.Path))
	}
	text, err := s.Numbered(workspace.Show(in.Path), in.StartLine, in.EndLine)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(text), nil
}

func resource(in readIn, blob []byte) (tool.Result, error) {
	name, err := workspace.Clean(in.Path)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Result{Content: []tool.Content{tool.ResourceContent{
		URI:      "file:///" + (&url.URL{Path: name}).EscapedPath(),
		MIMEType: mimeType(name, in.Offset, blob),
		Blob:     blob,
	}}}, nil
}

// mimeType returns the type that the name suggests, unless that is text, which the
// content is not, or else the type of the content.
func mimeType(name string, offset int64, blob []byte) string {
	if t := mime.TypeByExtension(path.Ext(name)); t != "" && !strings.HasPrefix(t, "text/") {
		return t
	}
	if offset > 0 { // signatures are at the start of a file
		return "application/octet-stream"
	}
	return strings.TrimSuffix(http.DetectContentType(blob), "; charset=utf-8")
}
