package session

import (
	"cmp"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/grant"
	"github.com/toolhost/toolhost/internal/protect"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// chosenPlace is a path for what the host keeps that is not the default.
type chosenPlace struct {
	what, path string
	key        []string // in the configuration; nil: it is from
	from       string   // the flag or variable that names it
}

// chosenPlaces returns the places that were chosen. Those by default are left out: a workspace that
// has them, such as a home, is the user's to choose, and they are mounted there.
func (t *Settings) chosenPlaces(auditFlag string) (out []chosenPlace) {
	for _, p := range []struct {
		what, flag, option, file, variable string
		key                                []string
	}{
		{"the record", auditFlag, "--audit", t.Config.Audit.Path, AuditVariable, []string{"audit", "path"}},
		{"the socket", t.flags.Socket, "--socket", t.Config.Socket, SocketVariable, []string{"socket"}},
		{"the cache", "", "", t.Config.CacheDir, CacheVariable, []string{"cache_dir"}},
		{"what is installed", "", "", t.Config.InstallDir, InstallVariable, []string{"install_dir"}},
	} {
		at := chosenPlace{what: p.what, path: cmp.Or(p.flag, p.file, os.Getenv(p.variable))}
		switch at.path {
		case p.flag:
			at.from = p.option
		case p.file:
			at.key = p.key
		default:
			at.from = p.variable
		}
		if at.path != "" && at.path != Off {
			out = append(out, at)
		}
	}
	return out
}

const otherPlace = "name a place that plugins may not write, or leave it out for the default"

// CheckPlaces refuses places for what the host keeps where plugins may write: the record, the
// socket, the cache and what is installed. A plugin could replace what lies there. Needs that plugins
// declare are looked at when they start.
//
// # Errors
//
// [*exit.Error], with the line of the configuration if that names the place.
func (t *Settings) CheckPlaces(auditFlag string) error {
	var problems []config.Problem
	for _, at := range t.chosenPlaces(auditFlag) {
		who := t.writer(at.path)
		if who == "" {
			continue
		}
		message := fmt.Sprintf("%s would be in %s, and could be replaced there", at.what, who)
		if at.key == nil {
			return exit.Usage(at.from+": "+sanitize.Text(at.path)+": "+message, otherPlace)
		}
		problems = append(problems, t.Config.Problem(message, otherPlace, at.key...))
	}
	if err := t.Config.Problems(problems); err != nil {
		return exit.With(exit.BadUsage, err)
	}
	return nil
}

// mayWrite returns what refuses to start a plugin that needs to write a directory with such a place.
func (t *Settings) mayWrite(auditFlag string) func(dir string) error {
	places := t.chosenPlaces(auditFlag)
	return func(dir string) error {
		for _, at := range places {
			if !protect.Inside(dir, at.path) {
				continue
			}
			if at.key != nil {
				at.from = t.Config.Place(at.key...)
			}
			return tool.Errorf(tool.CodePermissionDenied, "%s: %s would be in %s, which the plugin needs to write, and could be replaced there",
				at.from, at.what, dir).At(callstage.Start).NeverSent().Fix(otherPlace)
		}
		return nil
	}
}

// writer returns where a path lies that plugins may write; empty: nowhere.
func (t *Settings) writer(path string) string {
	if protect.Inside(t.Root, path) {
		return "the workspace"
	}
	writes := map[string][]string{"defaults.sandbox.write": t.Config.Defaults.Sandbox.Write}
	for name, p := range t.Config.Plugins {
		writes["plugins."+name+".sandbox.write"] = p.Sandbox.Write
	}
	for name, s := range t.Config.Servers {
		writes["mcp_servers."+name+".sandbox.write"] = s.Sandbox.Write
	}
	home, _ := os.UserHomeDir()
	for _, who := range slices.Sorted(maps.Keys(writes)) {
		for _, dir := range writes[who] {
			if below, ok := strings.CutPrefix(dir, "~/"); ok {
				dir = filepath.Join(home, below)
			} else if dir == grant.Any {
				dir = string(filepath.Separator)
			}
			if filepath.IsAbs(dir) && protect.Inside(dir, path) {
				return sanitize.Text(dir) + ", which " + who + " has"
			}
		}
	}
	return ""
}
