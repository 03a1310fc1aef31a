package session

import (
	"fmt"
	"slices"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/internal/state"
)

// told is the file that remembers which terminal sessions were told of which daemons.
type told struct {
	Sessions []string `json:"sessions"` // the newest last
}

// maxTold bounds how many are remembered.
const maxTold = 64

// noteDaemon says which daemon does the work: to a person once in a terminal session, and
// whenever the log level asks for it.
func (s *Session) noteDaemon(daemon control.State) {
	switch s.Settings().LogLevel {
	case "trace", "debug", "info":
	case "warn":
		if s.Flags.JSON || s.Quiet || !s.Err.Terminal() || wasTold(daemon) {
			return
		}
	default:
		return
	}
	s.Notef("using the daemon (pid %d)", daemon.PID)
}

// wasTold reports whether this terminal session was told of a daemon before, and remembers
// that it is now. What cannot be remembered is said each time.
func wasTold(daemon control.State) bool {
	terminal := terminalSession()
	file, err := state.In[told]("told.json")
	if err != nil || terminal == 0 {
		return false
	}
	key := fmt.Sprintf("%d %d %d", terminal, daemon.PID, daemon.Since.UnixNano())
	if all, err := file.Read(); err == nil && slices.Contains(all.Sessions, key) {
		return true
	}
	_ = file.Update(func(all *told) error {
		all.Sessions = append(all.Sessions, key)
		all.Sessions = all.Sessions[max(0, len(all.Sessions)-maxTold):]
		return nil
	})
	return false
}

// terminalSession identifies the session of this process, which all commands of a terminal
// share; 0: it is not known.
func terminalSession() int {
	id, err := unix.Getsid(0)
	if err != nil {
		return 0
	}
	return id
}
