package main

import (
	"context"
	"errors"
	"fmt"

	"github.com/toolhost/toolhost/plugins/internal/edit"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const proposeDescription = `Proposes to replace text in a file. Whoever approves the call is shown the description and a unified diff; once approved, the change is applied in one step.

It is applied only if the file still holds original: that text, exactly as it is given, spaces and line breaks included, and exactly once. original may be the whole file or a part of it; empty, it means a file that is not there yet, or is empty. Otherwise the proposal is stale, and nothing is changed. What others write to the file meanwhile is not lost.

Never repeat a refused proposal as it is: read the file again and make another.`

type proposeIn struct {
	Path        string `json:"path" jsonschema:"the file to change, relative to the workspace root"`
	Original    string `json:"original" jsonschema:"the text to replace, exactly as it is in the file, where it stands once; empty for a new file"`
	Modified    string `json:"modified" jsonschema:"the text to put in its place"`
	Description string `json:"description" jsonschema:"what the change is for, for whoever approves it"`
}

func (b *buffers) proposeTool() tool.Tool {
	return readable.Func("propose_file_edit", proposeDescription, b.propose,
		pluginsdk.Title("Propose an edit"),
		pluginsdk.Dangerous(),
		pluginsdk.Permission(tool.FSWrite),
		pluginsdk.Categories("diff", "editing"),
		pluginsdk.Argument("path", filePath),
		pluginsdk.Preview(b.previewPropose),
	)
}

func (in proposeIn) replacement() edit.Replacement {
	return edit.Replacement{Path: in.Path, Original: in.Original, Modified: in.Modified, Create: true}
}

func (b *buffers) propose(ctx context.Context, in proposeIn) (edit.Written, error) {
	ws, err := b.current.Get()
	if err != nil {
		return edit.Written{}, err
	}
	done, _, err := in.replacement().Apply(ctx, ws)
	if err != nil {
		return edit.Written{}, stop(err)
	}
	b.last.note(ctx, done.Path)
	return done, nil
}

func (b *buffers) previewPropose(ctx context.Context, in proposeIn) (tool.Result, error) {
	ws, err := b.current.Get()
	if err != nil {
		return tool.Result{}, err
	}
	r, err := in.replacement().Preview(ctx, ws)
	return r, stop(err)
}

// stop words a refusal so that a model does not try the same again.
func stop(err error) error {
	if refused := (*edit.Refused)(nil); errors.As(err, &refused) {
		return fmt.Errorf("STOP: Do NOT retry: %w. Nothing was changed. Read the file again, and propose an edit of what it holds now", err)
	}
	return err
}
