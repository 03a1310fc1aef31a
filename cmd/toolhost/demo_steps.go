package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// object is a JSON object of arguments.
type object map[string]any

// start is step 1.
func (d *demo) start(ctx context.Context) error {
	n := needs{uncached: true, options: func() ([]host.Option, func(), error) {
		return []host.Option{host.WithMaxRetries(0)}, func() {}, nil // to show the error that a retry would hide
	}}
	h, dirs, err := d.app.openLocal(ctx, d.app.namedDirs(), n)
	if err != nil {
		return err
	}
	d.host, d.dirs = h, dirs
	d.caller = h.Session(host.WithGrants(tool.FSRead))
	for _, s := range h.Plugins() {
		if s.State == plugin.Ready {
			d.notef("%-14s pid %-8d ready after %s", s.Name, s.PID, milliseconds(time.Duration(s.Took)))
		}
	}
	for _, fault := range h.faults {
		d.notef("not used: %s", message(fault, fault))
	}
	return d.cast()
}

// cast finds the plugins that play a part.
func (d *demo) cast() error {
	d.files = d.role("fs.list", object{"limit": 1})
	d.symbols = d.role("describe_symbol", object{"symbol": "fmt.Println"})
	d.victim, d.other = d.symbols, d.files
	if d.victim == nil {
		d.victim, d.other = d.files, nil
	}
	if d.victim == nil {
		return &failure{exitUnavailable, &tool.Error{
			Message: "neither the plugin fs nor introspection is in " + strings.Join(d.dirs, " or "),
			Hint:    "in toolhost's own repository: make run; elsewhere name their directory with --plugin-dir",
		}}
	}
	return nil
}

func (d *demo) role(name string, args any) *role {
	t, ok := d.host.Get(name)
	if !ok {
		return nil
	}
	s, _ := statusOf(d.host.Plugins(), t.Owner)
	return &role{plugin: t.Owner, pid: s.PID, tool: name, args: args}
}

// list is step 2.
func (d *demo) list(context.Context) error {
	const most = 12
	names := d.host.Names()
	more := ""
	if len(names) > most {
		more = fmt.Sprintf(" and %d more", len(names)-most)
	}
	d.notef("%d tools: %s%s", len(names), strings.Join(names[:min(most, len(names))], ", "), more)
	return nil
}

// read is step 3.
func (d *demo) read(ctx context.Context) error {
	if d.files == nil {
		d.notef("left out: the plugin fs is not there")
		return nil
	}
	name, err := d.readable(ctx)
	if err != nil {
		return err
	}
	if name == "" {
		d.notef("nothing to read: there is no file in the workspace")
		return nil
	}
	res, err := d.ask(ctx, "fs.read", object{"path": name})
	if err != nil {
		return err
	}
	d.notef("%s (%d bytes): %s", name, len(res.Text()), shorten(firstLine(res.Text()), 60))
	return nil
}

// readable chooses a file of the workspace; empty: there is none.
func (d *demo) readable(ctx context.Context) (string, error) {
	const most = 1 << 20 // a file to show something of, and no more
	res, err := d.ask(ctx, "fs.list", object{"limit": 10000})
	if err != nil {
		return "", err
	}
	var found struct {
		Entries []struct {
			Path string `json:"path"`
			Kind string `json:"kind"`
			Size int64  `json:"size"`
		} `json:"entries"`
	}
	if err := json.Unmarshal(res.Structured, &found); err != nil {
		return "", fmt.Errorf("fs.list answers something else than it promises: %w", err)
	}
	rank := map[string]int{"go.mod": 3, "README.md": 2}
	best, bestRank := "", 0
	for _, e := range found.Entries {
		if e.Kind == "file" && e.Size <= most && max(1, rank[e.Path]) > bestRank {
			best, bestRank = e.Path, max(1, rank[e.Path])
		}
	}
	return best, nil
}

// describe is step 4.
func (d *demo) describe(ctx context.Context) error {
	if d.symbols == nil {
		d.notef("left out: the plugin introspection is not there")
		return nil
	}
	if args := d.ownSymbol(ctx); args != nil {
		d.symbols.args = args
	}
	res, err := d.ask(ctx, d.symbols.tool, d.symbols.args)
	if err != nil {
		return err
	}
	var seen struct {
		Kind      string   `json:"kind"`
		Package   string   `json:"package"`
		Signature string   `json:"signature"`
		Doc       string   `json:"doc"`
		Position  string   `json:"position"`
		Methods   []object `json:"methods"`
	}
	if err := json.Unmarshal(res.Structured, &seen); err != nil {
		return fmt.Errorf("%s answers something else than it promises: %w", d.symbols.tool, err)
	}
	d.notef("%s, %s in %s", shorten(firstLine(seen.Signature), 70), seen.Kind, seen.Package)
	d.notef("%s", shorten(firstLine(seen.Doc), 76))
	if len(seen.Methods) > 0 {
		d.notef("at %s, with %d methods", seen.Position, len(seen.Methods))
	} else {
		d.notef("at %s", seen.Position)
	}
	return nil
}

// ownSymbol chooses a symbol of the workspace: Host, where there is a package
// ./host as in toolhost's own repository, else the first in the root's package.
// It is nil for a workspace without.
func (d *demo) ownSymbol(ctx context.Context) any {
	for _, pkg := range []string{"./host", "."} {
		res, err := d.ask(ctx, "list_package_symbols", object{"package": pkg})
		if err != nil {
			continue
		}
		type named struct {
			Name string `json:"name"`
		}
		var listed struct {
			Types     []named `json:"types"`
			Functions []named `json:"functions"`
		}
		if json.Unmarshal(res.Structured, &listed) != nil {
			continue
		}
		best := ""
		for _, n := range append(listed.Types, listed.Functions...) {
			if best == "" || n.Name == "Host" {
				best = n.Name
			}
		}
		if best != "" {
			return object{"symbol": best, "package": pkg}
		}
	}
	return nil
}

// refuse is step 5.
func (d *demo) refuse(ctx context.Context) error {
	r := d.victim
	if d.other != nil {
		r = d.other
	}
	args, err := json.Marshal(r.args)
	if err != nil {
		return err
	}
	nobody := d.host.Session()
	for _, c := range []struct {
		what string
		by   *host.Session
		call tool.Call
		want tool.Code
	}{
		{"without the grant", nobody, tool.Call{Name: r.tool, Arguments: args}, tool.CodePermissionDenied},
		{"wrong arguments", d.caller, tool.Call{Name: r.tool, Arguments: []byte(`{"colour":"red"}`)}, tool.CodeInvalidArguments},
		{"a name that is not there", d.caller, tool.Call{Name: r.tool + "s"}, tool.CodeNotFound},
	} {
		out, _, err := c.by.CallDetailed(ctx, c.call)
		if got := tool.CodeOf(err); got != c.want {
			return fmt.Errorf("%s: the host answered %q and not %s: %s", c.what, got, c.want, out.Content)
		}
		if out.Metadata.Attempts > 0 {
			return fmt.Errorf("%s: the call was refused and yet reached the plugin", c.what)
		}
		e := tool.AsError(err)
		d.notef("%s: %s: %s", c.what, e.Code, shorten(message(e, e), 76))
	}
	d.notef("no plugin was asked")
	return nil
}

// ask makes a call that has to work.
func (d *demo) ask(ctx context.Context, name string, args any) (tool.Result, error) {
	text, err := json.Marshal(args)
	if err != nil {
		return tool.Result{}, err
	}
	res, err := d.caller.Execute(ctx, tool.Call{Name: name, Arguments: text})
	if err == nil && res.IsError {
		err = errors.New(res.Text())
	}
	return res, err
}
