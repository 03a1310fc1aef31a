package lockfile

import (
	"slices"
	"strings"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/remedy"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Check reports whether a plugin is as pinned. One that needs less than is pinned is.
//
// # Errors
//
// [*tool.Error] with the code unavailable, as for all plugins that are refused, that
// shows what is pinned, what was found, and the command that accepts it.
func (l *Lock) Check(name string, found Entry) error {
	if _, pinned := l.Plugins[name]; !pinned && l.Others {
		return nil
	}
	differences := slices.DeleteFunc(l.compare(name, found), func(d Difference) bool {
		return d.Kind == Needs && d.Needs.Larger() == nil
	})
	if len(differences) == 0 {
		return nil
	}
	texts := make([]string, len(differences))
	for i, d := range differences {
		texts[i] = strings.TrimPrefix(d.String(), name+": ")
	}
	return tool.Errorf(tool.CodeUnavailable,
		"plugin %s does not run, as it is not what toolhost.lock pins: %s", name, strings.Join(texts, "; ")).
		Of("", name).At(callstage.Start).NeverSent().Fix("if this is what you want to run: " + remedy.Lock.String())
}

// CheckBinary is [Lock.Check] before the plugin is started, when only its bytes are known.
//
// # Errors
//
// Those of [Lock.Check].
func (l *Lock) CheckBinary(name, sha256 string) error {
	found := l.Plugins[name]
	found.SHA256, found.Identity = sha256, ""
	return l.Check(name, found)
}

// CheckIdentity is [Lock.CheckBinary] of a server, before it is reached.
//
// # Errors
//
// Those of [Lock.Check].
func (l *Lock) CheckIdentity(name, digest string) error {
	found := l.Plugins[name]
	found.SHA256, found.Identity = "", digest
	return l.Check(name, found)
}

// CheckListed is [Lock.Check] before the binary is read, when only the plugin's name is
// known: it must be pinned.
//
// # Errors
//
// Those of [Lock.Check].
func (l *Lock) CheckListed(name string) error {
	return l.Check(name, l.Plugins[name])
}
