package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/internal/edit"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const proposeDescription = `Proposes to replace text in a file. The approver is shown the description and a unified diff; once approved, the change is applied in one step.

The file must still contain original exactly as given, including spaces and line breaks, and exactly once; if original is empty, the file must be missing or empty. Otherwise nothing is changed, and the error says where original occurs, or which lines are most similar. Changes that others make to the file meanwhile are not lost.`

type proposeIn struct {
	Path        string `json:"path" jsonschema:"the file to change, relative to the workspace"`
	Original    string `json:"original" jsonschema:"the text to replace, a part of the file or all of it; empty for a new file"`
	Modified    string `json:"modified" jsonschema:"the text to put in its place"`
	Description string `json:"description" jsonschema:"the purpose of the change, for the approver"`
}

func (b *buffers) proposeTool() tool.Tool {
	return readable.Func("propose_file_edit", proposeDescription, workspace.In(b.current, b.propose),
		pluginsdk.Title("Propose an edit"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("diff", "editing"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Preview(workspace.In(b.current, previewPropose)),
	)
}

func (in proposeIn) change() edit.Change {
	return edit.Change{Path: in.Path, Replacements: []edit.Replacement{{Original: in.Original, Modified: in.Modified}}}
}

func (b *buffers) propose(ctx context.Context, ws *workspace.Workspace, in proposeIn) (workspace.Written, error) {
	done, _, err := in.change().Apply(ctx, ws)
	if err == nil {
		b.last.set(ctx, done.Path)
	}
	return done, err
}

func previewPropose(ctx context.Context, ws *workspace.Workspace, in proposeIn) (tool.Result, error) {
	return in.change().Preview(ctx, ws)
}
