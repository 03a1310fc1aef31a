package edit

import (
	"context"

	"github.com/toolhost/toolhost/plugins/internal/diff"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// PreviewWrite returns the diff of what [workspace.Workspace.Write] would do now, or
// its error.
func PreviewWrite(ctx context.Context, ws *workspace.Workspace, path, content string) (tool.Result, error) {
	now, err := ws.Snapshot(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	return show(now, []byte(content)), nil
}

// PreviewDelete returns the diff of what deleting a file would do now, or its error.
func PreviewDelete(ctx context.Context, ws *workspace.Workspace, path string) (tool.Result, error) {
	now, err := ws.Snapshot(ctx, path)
	if err != nil {
		return tool.Result{}, err
	}
	change := diff.Change{Path: now.Path, Exists: true, Old: now.Content, OldSize: now.Size, Deleted: true}
	return tool.Text(change.Text()), nil
}

func show(now workspace.Snapshot, content []byte) tool.Result {
	change := diff.Change{Path: now.Path, Exists: now.Exists, Old: now.Content, OldSize: now.Size, New: content}
	return tool.Text(change.Text())
}
