package main

import (
	"context"
	"fmt"
	"path"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const listDescription = `Lists a directory of the workspace, sorted by path.

Each entry has its path (relative to the workspace root), name, kind (file, dir, symlink or other), size in bytes (0 for all but files) and time of last change. With recursive, the directories below are listed too. Symbolic links are listed, not followed. Directories named .git are listed, but what is in them is not; name one as the path to see it.

glob picks entries by name, as in *.go; with a slash in it, by path, as in src/*.go, where * does not match a slash. To search a whole tree, use recursive with a glob for the name.

truncated says that there were more entries than limit; unreadable names directories that could not be looked into.`

// Bounds of limit, in entries.
const (
	defaultEntries = 1000
	maxEntries     = 10000
)

type listIn struct {
	Path      string `json:"path,omitempty" jsonschema:"the directory to list, relative to the workspace root; default: the root itself"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"whether to list the directories below too; default false"`
	Glob      string `json:"glob,omitempty" jsonschema:"a pattern with *, ? and [a-z] that the name has to match, or the path if the pattern has a slash; default: everything"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the most entries to return; default 1000"`
}

type listOut struct {
	Entries    []listEntry `json:"entries"`
	Truncated  bool        `json:"truncated" jsonschema:"whether there were more entries than limit"`
	Unreadable []string    `json:"unreadable,omitempty" jsonschema:"directories that could not be looked into"`
}

type listEntry struct {
	Path     string         `json:"path" jsonschema:"relative to the workspace root"`
	Name     string         `json:"name" jsonschema:"the last element of the path"`
	Kind     workspace.Kind `json:"kind" jsonschema:"file, dir, symlink or other"`
	Size     int64          `json:"size" jsonschema:"bytes of a file; 0 for all else"`
	Modified time.Time      `json:"modified" jsonschema:"when it was last changed"`
}

func listTool(current *workspace.Current) tool.Tool {
	list := func(ctx context.Context, in listIn) (listOut, error) { return list(ctx, current, in) }
	return pluginsdk.Func("fs.list", listDescription, list,
		pluginsdk.Title("List a directory"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("path", `{"pattern": "^([^/].*)?$", "default": "."}`),
		pluginsdk.Argument("recursive", `{"default": false}`),
		pluginsdk.Argument("limit", fmt.Sprintf(`{"minimum": 1, "maximum": %d, "default": %d}`, maxEntries, defaultEntries)),
	)
}

func list(ctx context.Context, current *workspace.Current, in listIn) (listOut, error) {
	if in.Path == "" {
		in.Path = "."
	}
	if in.Limit == 0 {
		in.Limit = defaultEntries
	}
	if in.Limit < 1 || in.Limit > maxEntries {
		return listOut{}, fmt.Errorf("limit must be between 1 and %d, not %d", maxEntries, in.Limit)
	}
	match, err := matcher(in.Glob)
	if err != nil {
		return listOut{}, err
	}
	ws, err := current.Get()
	if err != nil {
		return listOut{}, err
	}
	found, err := ws.List(ctx, in.Path, workspace.ListOptions{Recursive: in.Recursive, Match: match, Limit: in.Limit})
	if err != nil {
		return listOut{}, err
	}
	out := listOut{Entries: make([]listEntry, len(found.Entries)), Truncated: found.Truncated, Unreadable: found.Unreadable}
	for i, e := range found.Entries {
		out.Entries[i] = listEntry(e)
	}
	return out, nil
}

// matcher is nil for an empty glob.
func matcher(glob string) (func(workspace.Entry) bool, error) {
	if glob == "" {
		return nil, nil
	}
	if strings.Contains(glob, "**") {
		// path.Match would take it for a single star and quietly find less.
		return nil, fmt.Errorf("malformed glob %q: ** is not known (use recursive, and a glob for the name such as *.go)", glob)
	}
	if _, err := path.Match(glob, ""); err != nil {
		return nil, fmt.Errorf("malformed glob %q (use *, ?, [a-z] and \\ before a character that stands for itself)", glob)
	}
	whole := strings.Contains(glob, "/")
	return func(e workspace.Entry) bool {
		subject := e.Name
		if whole {
			subject = e.Path
		}
		ok, err := path.Match(glob, subject)
		return ok && err == nil
	}, nil
}
