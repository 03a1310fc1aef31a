package session

import (
	"context"
	"errors"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/paths"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// unread is a configuration file that does not count for a command: it was named and is
// broken, or it was found and is not trusted as it is. A daemon may have an earlier content in
// effect. A command that uses this daemon is under that content, which is stricter than the
// defaults or nothing at all.
type unread struct {
	path string // empty: none
	err  error  // why a file that was named cannot be used; nil: it was found
}

// Unread returns why the configuration file that was named cannot be used; nil: it can.
func (s *Session) Unread() error { return s.unread.err }

// asIn returns the identity of a command as it would be by the content that a daemon has in
// effect of the same file. Flags go before that content.
func (u unread) asIn(daemon control.State, mine control.Identity, f *Flags) control.Identity {
	path, err := paths.Canonical(u.path)
	if u.path == "" || err != nil || path != daemon.Identity.Config {
		return mine
	}
	mine.Config, mine.ConfigDigest = path, daemon.Identity.ConfigDigest
	if slices.Contains(daemon.Configured, "root") && !f.Given("root") {
		mine.Root = daemon.Identity.Root
	}
	if slices.Contains(daemon.Configured, "plugin_dirs") && !f.Given("plugin-dir") {
		mine.PluginDirs = daemon.Identity.PluginDirs
	}
	return mine
}

// Configured returns the settings, of those that a command and a daemon must have in common,
// that come from the configuration file.
func (t *Settings) Configured() (keys []string) {
	if t.Config.Root != "" && !t.flags.Given("root") {
		keys = append(keys, "root")
	}
	if len(t.Config.PluginDirs) > 0 && !t.flags.Given("plugin-dir") {
		keys = append(keys, "plugin_dirs")
	}
	return keys
}

// told reports whether a fault of the daemon is that of the file, which this command has found
// out itself.
func (u unread) told(fault *tool.Error) bool {
	return u.err != nil && fault.Plugin == "" && strings.Contains(fault.Message, u.path)
}

// noteUnread says on one line that a daemon goes by an earlier content of the file.
func (s *Session) noteUnread() {
	if s.unread.err == nil {
		return
	}
	why := output.FirstLine(s.unread.err.Error())
	if bad, ok := errors.AsType[*config.Error](s.unread.err); ok {
		why = bad.Problems[0].String()
	}
	s.Notef("the daemon goes by what it read before, as the configuration cannot be used: %s", sanitize.Line(why, 0))
}

// daemonReadIt reports whether the daemon on the socket has an earlier content of this file in
// effect.
func (s *Session) daemonReadIt(path string) bool {
	socket, err := s.Settings().SocketPath()
	if err != nil || socket == "" || s.Flags.NoDaemon {
		return false
	}
	at, err := paths.Canonical(path)
	if err != nil {
		return false
	}
	c, err := control.Dial(context.Background(), socket, false)
	return err == nil && c.State().Identity.Config == at
}
