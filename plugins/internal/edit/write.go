package edit

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/internal/diff"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Written is the result of a tool that writes a file.
type Written struct {
	Path    string `json:"path" jsonschema:"the file, relative to the workspace root"`
	Bytes   int64  `json:"bytes" jsonschema:"how many bytes were written"`
	Created bool   `json:"created" jsonschema:"whether the file did not exist before"`
}

// Text returns the result for a reader.
func (w Written) Text() string {
	size, what := fmt.Sprintf("%d bytes", w.Bytes), ""
	if w.Bytes == 1 {
		size = "1 byte"
	}
	if w.Created {
		what = ", a new file"
	}
	return fmt.Sprintf("Wrote %s to %s%s.", size, workspace.Show(w.Path), what)
}

// Write writes a whole file, see [workspace.Workspace.Write].
func Write(ctx context.Context, ws *workspace.Workspace, path, content string) (Written, error) {
	done, err := ws.Write(ctx, path, strings.NewReader(content))
	return Written(done), err
}

// WritePreview returns the diff of what [Write] would do now, or its error.
func WritePreview(ctx context.Context, ws *workspace.Workspace, path, content string) (tool.Result, error) {
	now, err := ws.Snapshot(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	return show(now, []byte(content)), nil
}

func show(now workspace.Snapshot, content []byte) tool.Result {
	return tool.Text(diff.Change{Path: now.Path, Exists: now.Exists, Old: now.Content, OldSize: now.Size, New: content}.Text())
}
