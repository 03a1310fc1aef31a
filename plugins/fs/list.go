package main

import (
	"context"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/plugins/internal/glob"
	"github.com/toolhost/toolhost/plugins/internal/readable"
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const listDescription = `Lists a directory of the workspace, sorted by path: path, name, kind (file, dir, symlink or other), size in bytes and time of last change of each entry. Symbolic links are not followed.

What .gitignore or .git/info/exclude ignores is left out, and so is .git; ignored lists it too, apart from what is in .git. The directory given as path is listed in any case.

A name that is not UTF-8 is shown with \xNN for its bytes and marked with not_utf8; no tool can open it.`

// Bounds of limit, in entries.
const (
	defaultEntries = 1000
	maxEntries     = 10000
)

type listIn struct {
	Path      string `json:"path,omitempty" jsonschema:"the directory to list, relative to the workspace"`
	Recursive bool   `json:"recursive,omitempty" jsonschema:"list subdirectories too"`
	Glob      string `json:"glob,omitempty" jsonschema:"a pattern such as *.go that the name must match, or, with a slash, the path, as in src/**/*.{c,h}; it has *, ?, ** for any number of directories, [a-z] and {a,b}"`
	Limit     int    `json:"limit,omitempty" jsonschema:"the most entries to return"`
	Ignored   bool   `json:"ignored,omitempty" jsonschema:"list what .gitignore ignores too"`
}

type listOut struct {
	Entries    []listEntry `json:"entries"`
	Truncated  bool        `json:"truncated" jsonschema:"whether there were more entries than limit"`
	Unreadable []string    `json:"unreadable,omitempty" jsonschema:"directories that could not be read"`
}

type listEntry struct {
	Path     string         `json:"path" jsonschema:"relative to the workspace root"`
	Name     string         `json:"name" jsonschema:"the last element of the path"`
	Kind     workspace.Kind `json:"kind" jsonschema:"file, dir, symlink or other"`
	Size     int64          `json:"size" jsonschema:"bytes of a file; 0 for all else"`
	Modified time.Time      `json:"modified" jsonschema:"when it was last changed"`
	NotUTF8  bool           `json:"not_utf8,omitempty" jsonschema:"the path is not UTF-8 and is shown with escapes"`
}

// Text returns the result for a reader: a line for each entry.
func (o listOut) Text() string {
	var b strings.Builder
	for _, e := range o.Entries {
		slash := ""
		if e.Kind == workspace.Dir {
			slash = "/"
		}
		fmt.Fprintf(&b, "%-7s %12d  %s  %s%s\n",
			e.Kind, e.Size, e.Modified.Format("2006-01-02 15:04:05"), workspace.Show(e.Path), slash)
	}
	if len(o.Entries) == 0 {
		b.WriteString("Nothing to list.\n")
	}
	if o.Truncated {
		fmt.Fprintf(&b, "There are more; these are the first %d (raise limit, or narrow the listing with path or glob).\n",
			len(o.Entries))
	}
	for _, path := range o.Unreadable {
		fmt.Fprintf(&b, "Could not read %s.\n", workspace.Show(path))
	}
	return b.String()
}

func listTool(current *workspace.Current) tool.Tool {
	return readable.Func("fs.list", listDescription, workspace.In(current, list),
		pluginsdk.Title("List a directory"),
		pluginsdk.Safe(),
		pluginsdk.Permission(tool.FSRead),
		pluginsdk.Categories("filesystem"),
		pluginsdk.Idempotent(2),
		pluginsdk.Argument("path", dirPath),
		pluginsdk.Argument("recursive", `{"default": false}`),
		pluginsdk.Argument("ignored", `{"default": false}`),
		pluginsdk.Argument("limit", fmt.Sprintf(`{"minimum": 1, "maximum": %d, "default": %d}`, maxEntries, defaultEntries)),
	)
}

func list(ctx context.Context, ws *workspace.Workspace, in listIn) (listOut, error) {
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
	o := workspace.WalkOptions{Recursive: in.Recursive}
	if !in.Ignored {
		o.Ignore = workspace.GitRules()
	}
	out := listOut{Entries: []listEntry{}}
	unreadable, err := ws.Walk(ctx, in.Path, o, func(e workspace.Entry) error {
		switch {
		case match != nil && !match(e):
		case len(out.Entries) == in.Limit:
			out.Truncated = true
			return workspace.ErrEnough
		default:
			out.Entries = append(out.Entries, presentEntry(e))
		}
		return nil
	})
	if err != nil {
		return listOut{}, err
	}
	for _, dir := range unreadable {
		dir, _ = workspace.Escape(dir)
		out.Unreadable = append(out.Unreadable, dir)
	}
	return out, nil
}

func presentEntry(e workspace.Entry) listEntry {
	path, not := workspace.Escape(e.Path)
	name, _ := workspace.Escape(e.Name)
	return listEntry{Path: path, Name: name, Kind: e.Kind, Size: e.Size, Modified: e.Modified, NotUTF8: not}
}

// matcher returns nil for an empty glob.
func matcher(pattern string) (func(workspace.Entry) bool, error) {
	if pattern == "" {
		return nil, nil
	}
	g, err := glob.Compile(pattern)
	if err != nil {
		return nil, err
	}
	return func(e workspace.Entry) bool { return g.Match(e.Path) }, nil
}
