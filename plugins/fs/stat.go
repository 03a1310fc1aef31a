package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const statDescription = `Describes what is at a path of the workspace, without opening it: kind (file, dir, symlink or other), size in bytes, time of last change, permission bits, and the target of a symbolic link, which is not followed. If the path does not exist, the error names similar ones.`

type statIn struct {
	Path string `json:"path" jsonschema:"what to describe, relative to the workspace"`
}

type statOut struct {
	Path     string         `json:"path" jsonschema:"relative to the workspace root"`
	Kind     workspace.Kind `json:"kind" jsonschema:"file, dir, symlink or other"`
	Size     int64          `json:"size" jsonschema:"bytes of a file; 0 for all else"`
	Modified time.Time      `json:"modified" jsonschema:"when it was last changed"`
	Mode     string         `json:"mode" jsonschema:"permission bits in octal, as in 0644"`
	Target   string         `json:"target,omitempty" jsonschema:"target of a symbolic link, as written in it"`
}

// Text returns the result for a reader.
func (o statOut) Text() string {
	var b strings.Builder
	fmt.Fprintf(&b, "path:     %s\nkind:     %s\nsize:     %d\nmodified: %s\nmode:     %s\n",
		workspace.Show(o.Path), o.Kind, o.Size, o.Modified.Format(time.RFC3339), o.Mode)
	if o.Target != "" {
		fmt.Fprintf(&b, "target:   %s\n", workspace.Show(o.Target))
	}
	return b.String()
}

func statTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.stat", statDescription, workspace.In(current, stat),
		pluginsdk.Title("Describe a file"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("path", filePath),
	)
}

func stat(_ context.Context, ws *workspace.Workspace, in statIn) (statOut, error) {
	info, err := ws.Stat(in.Path)
	if err != nil {
		return statOut{}, err
	}
	target, _ := workspace.Escape(info.Target)
	return statOut{
		Path: info.Path, Kind: info.Kind, Size: info.Size, Modified: info.Modified,
		Mode: fmt.Sprintf("%04o", info.Mode), Target: target,
	}, nil
}
