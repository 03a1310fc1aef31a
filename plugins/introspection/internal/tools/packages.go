package tools

import (
	"context"
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/plugins/introspection/internal/check"
	"github.com/toolhost/toolhost/plugins/introspection/internal/lookup"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type packagesIn struct {
	Scope string `json:"scope,omitempty" jsonschema:"list these only: a directory with those below (./host/...), or import paths (example.com/m/host/...)"`
	page
	build
}

// packageList is the answer of list_packages. Limit and offset count the packages.
type packageList struct {
	Modules  []string        `json:"modules" jsonschema:"the workspace's modules: path and directory"`
	Requires []string        `json:"requires,omitempty" jsonschema:"modules that the packages come from which these import, tests included"`
	Packages []listedPackage `json:"packages"`
	Total    int             `json:"total"`
	rest
	OtherModules []string `json:"other_modules,omitempty" jsonschema:"directories below the workspace with modules that are not part of it"`
	LeftOut      string   `json:"left_out,omitempty" jsonschema:"the files that build constraints leave out"`
}

type listedPackage struct {
	Path     string   `json:"path" jsonschema:"import path"`
	Name     string   `json:"name"`
	Dir      string   `json:"dir" jsonschema:"relative to the workspace"`
	Synopsis string   `json:"synopsis,omitempty"`
	Files    int      `json:"files" jsonschema:"Go files, without tests"`
	Tests    int      `json:"test_files,omitempty"`
	Imports  []string `json:"imports,omitempty" jsonschema:"packages of the workspace that it imports"`
}

func listPackages(w *check.Workspace) tool.Tool {
	return define(w, "list_packages",
		"Lists the modules and packages of the workspace, each package with one line of documentation, its files "+
			"and what it imports of the workspace. Use it first in code that you do not know; list_package_symbols "+
			"goes on.",
		newPackageList, append(pageArguments(maxLimit), pluginsdk.Title("List the workspace's packages"),
			pluginsdk.Categories("code"), pluginsdk.Argument("scope", nameLimit))...)
}

func newPackageList(ctx context.Context, w *check.Workspace, in packagesIn) (packageList, error) {
	s, err := w.Snapshot(ctx, in.Scope)
	if err != nil {
		return packageList{}, err
	}
	if !s.InModule() {
		return packageList{}, s.NoModule()
	}
	f := lookup.Finder{Snapshot: s}
	scope := in.Scope
	if scope == "" {
		scope = "./..."
	}
	nodes, err := f.Scope(ctx, scope)
	if err != nil && in.Scope != "" {
		return packageList{}, err
	}
	out := packageList{Modules: []string{}, Packages: []listedPackage{}, Total: len(nodes)}
	for _, m := range s.OwnModules() {
		dir, ok := s.Root.Relative(m.Dir)
		if !ok {
			dir = "above the workspace"
		}
		out.Modules = append(out.Modules, strings.TrimSpace(fmt.Sprintf("%s (%s) %s", m.Path, dir, m.Go)))
	}
	pages := newPager(in.page, maxLimit)
	if in.Offset == 0 {
		out.Requires, out.OtherModules = s.Requires(), s.OtherModules()
		pages.charge(out.Requires)
		pages.charge(out.OtherModules)
	}
	for _, n := range nodes {
		if pages.wants() {
			add(pages, &out.Packages, newListedPackage(s, n))
		} else {
			pages.skip()
		}
	}
	out.rest = pages.rest()
	if files := lookup.Files(s.LeftOut()); len(files) > 0 {
		out.LeftOut = f.LeftOut(files)
	}
	return out, nil
}

func newListedPackage(s *check.Snapshot, n *check.Node) listedPackage {
	out := listedPackage{Path: n.Path, Name: n.Name, Files: len(n.Files), Synopsis: s.PackageSynopsis(n)}
	out.Dir, _ = s.Root.Relative(n.Dir)
	for _, t := range s.Graph.TestsOf(n.Path) {
		out.Tests += len(t.Files)
		if t.Path == n.Path {
			out.Tests -= len(n.Files)
		}
	}
	for _, path := range n.Imports {
		if imported := s.Graph.Nodes[path]; imported != nil && imported.Own {
			out.Imports = append(out.Imports, path)
		}
	}
	return out
}
