package main

import (
	"context"
	"errors"
	"os"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

const aboutStop = `End the daemon, as SIGTERM does, and wait until it has ended: it takes no more calls and
waits for those in progress (serve --drain). The exit status is 0 when it is gone.

The daemon is the one on the socket (--socket), whatever its root.`

func newStopCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Example: "  toolhost stop",
		Use:     "stop",
		Short:   "End the daemon in good order",
		Long:    aboutStop,
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			c, err := dialDaemon(cmd.Context(), s, false)
			if err != nil {
				return err
			}
			if err := c.Stop(cmd.Context()); err != nil {
				return err
			}
			pid, root := c.State().PID, c.State().Identity.Root
			return s.Answer(map[string]any{"stopped": true, "pid": pid, "root": root}, "stopped the daemon (pid %d) of %s\n", pid, sanitize.Text(root))
		},
	}
}

// dialCallers connects to the daemon on the socket, which may be another user's whose configuration names this user.
// Root, as it may answer for any user, needs no name if it is to be admitted.
func dialCallers(ctx context.Context, s *session.Session, root bool) (*control.Client, error) {
	s.Quiet = true
	_ = s.Configure(true) // as dialDaemon does
	_, named := setup.Named(s.Settings().Config, os.Geteuid())
	return dialDaemon(ctx, s, named || root && os.Geteuid() == 0)
}

// withCallers is what runs a command with the daemon of [dialCallers].
func withCallers(
	s *session.Session, root bool, f func(ctx context.Context, c *control.Client, args []string) error,
) func(*cobra.Command, []string) error {
	return func(cmd *cobra.Command, args []string) error {
		c, err := dialCallers(cmd.Context(), s, root)
		if err != nil {
			return err
		}
		return f(cmd.Context(), c, args)
	}
}

// completeByCallers completes the only argument of a command with words of the daemon of [dialCallers].
func completeByCallers(s *session.Session, root bool, words func(context.Context, *control.Client) []string) cobra.CompletionFunc {
	return oneOf(func(ctx context.Context) []string {
		ctx, cancel := context.WithTimeout(ctx, completionTimeout)
		defer cancel()
		c, err := dialCallers(ctx, s, root)
		if err != nil { // errors are not shown in completions
			return nil
		}
		return words(ctx, c)
	})
}

// dialDaemon connects to the daemon on the socket, whatever its root and configuration.
//
// # Errors
//
// [tool.CodeUnavailable] if there is none; those of [control.Dial].
func dialDaemon(ctx context.Context, s *session.Session, foreign bool) (*control.Client, error) {
	s.Quiet = true
	_ = s.Configure(true) // only for the socket: the daemon reports an invalid file
	path, err := s.Settings().SocketPath()
	if err != nil {
		return nil, err
	}
	c, err := control.Dial(ctx, path, foreign)
	if errors.Is(err, control.ErrNoDaemon) {
		return nil, s.NoDaemon("")
	}
	if name, named := setup.Named(s.Settings().Config, os.Geteuid()); named && tool.CodeOf(err) == tool.CodePermissionDenied {
		err = tool.Errorf(tool.CodePermissionDenied, "this user is the caller %s of the daemon, and may call its tools only", name).
			Try("have the user who runs the daemon do it")
	}
	return c, err
}
