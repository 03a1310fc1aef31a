package daemon

import (
	"context"
	"os"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/mcpstdio"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// doorKey is for the name of the caller that an MCP client of the socket is.
type doorKey struct{}

// serveDoor serves an MCP client of a command. For the daemon's own user it is the caller mcp, as it would be
// with a host of its own, and not the operator, whom the model must not become.
func (m *mcpClients) serveDoor(by control.Caller, door *control.Door) {
	if !m.enter() {
		return
	}
	defer m.doors.Done()
	server, err := m.open()
	if err != nil {
		m.daemon.log.Error("an MCP client is not served", "error", err)
		return
	}
	name := by.Name
	if name == setup.CLI {
		name = setup.MCP
	}
	ctx := context.WithValue(context.Background(), doorKey{}, name)
	transport := &mcpstdio.Transport{In: door, Out: door, Whole: door.Whole, Stop: m.ending, Drain: m.daemon.options.Drain}
	if err := stdioError(server.Run(ctx, transport)); err != nil {
		m.daemon.log.Warn("an MCP client was sent away", "caller", name, "error", err)
	}
}

// enter counts a client, unless all have to leave.
func (m *mcpClients) enter() bool {
	m.opening.Lock()
	defer m.opening.Unlock()
	select {
	case <-m.ending:
		return false
	default:
		m.doors.Add(1)
		return true
	}
}

// leave has all clients of the socket leave when their calls are answered.
func (m *mcpClients) leave() {
	m.opening.Lock()
	close(m.ending)
	m.opening.Unlock()
	m.doors.Wait()
}

// throughDoor has the daemon serve the client, if there is one that would serve it as a host of its own. It says
// which of the two it is.
func throughDoor(ctx context.Context, s *session.Session, o Options) (done bool, _ error) {
	own := func(why string) (bool, error) {
		s.Notef("serving this client with a host of its own: %s", why)
		return false, nil
	}
	switch flags := ownFlags(s, o); {
	case s.Flags.NoDaemon || s.Settings().Dirs.Apart:
		return false, nil
	case len(flags) > 0:
		return own("it was given " + strings.Join(flags, ", ") + ", which no daemon takes from it")
	}
	daemon := s.Daemon(ctx)
	if daemon == nil {
		return own("there is no daemon that it can use")
	}
	conn, err := daemon.OpenDoor(ctx, mcpstdio.IsFile(os.Stdin))
	if err != nil {
		return own(tool.AsError(err).Message)
	}
	caller := setup.MCP
	if name, ok := setup.Named(s.Settings().Config, os.Geteuid()); ok { // by the daemon of another user
		caller = name
	}
	s.Notef("serving this client by the daemon (pid %d), as the caller %s", daemon.State().PID, caller)
	if mcpstdio.Pass(ctx, os.Stdin, os.Stdout, conn) {
		s.Notef("the daemon has ended, and with it this server")
	}
	return true, nil
}

// ownFlags returns the flags that ask for what the daemon does not give the caller mcp.
func ownFlags(s *session.Session, o Options) (flags []string) {
	given := setup.CallerOf(s.Settings().Config, setup.MCP)
	if slices.ContainsFunc(o.Grants, func(g tool.Capability) bool { return !given.Holds(g) }) {
		flags = append(flags, "--grant beyond what callers.mcp.grants has")
	}
	for flag, asked := range map[string]bool{
		"--yes": o.Yes, "--caller": o.Caller != setup.MCP, "--audit": o.Audit != "", "--drain": o.Drain != DefaultDrain,
	} {
		if asked {
			flags = append(flags, flag)
		}
	}
	slices.Sort(flags)
	return flags
}
