package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutReload = `Make the daemon read its configuration file, its lock and the plugin directories again. With
this you confirm what is there now: changed plugins inside the workspace, where tools may
have made them, are run, which a daemon does not do without you. The new configuration is
applied as a whole; if any part is invalid, nothing changes and the exit status is 1.

A configuration file or lock inside the workspace counts with the content that you trust. If
it has other content than is in effect, reload shows the difference and asks; --yes is the
answer. Without a terminal nothing changes and the exit status is 5: look at the file, and
toolhost trust FILE. SIGHUP, too, applies only what you trust.

The daemon is the one on the socket (--socket), whatever its root.`

func newReloadCommand(s *session.Session) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Example: "  toolhost reload",
		Use:     "reload",
		Short:   "Make the daemon apply what has changed",
		Long:    aboutReload,
		Args:    noArguments,
		RunE:    func(cmd *cobra.Command, _ []string) error { return reload(cmd.Context(), s, yes) },
	}
	cmd.Flags().BoolVar(&yes, "yes", false, "trust the configuration and the lock as they are now")
	return cmd
}

func reload(ctx context.Context, s *session.Session, yes bool) error {
	c, err := dialDaemon(ctx, s, false)
	if err != nil {
		return err
	}
	waiting, err := control.Do(ctx, c, daemonv1.DaemonHandler.ListWaiting, &daemonv1.ListWaitingRequest{})
	if err != nil {
		return err
	}
	var accept []string
	for _, w := range waiting.GetFiles() {
		if !yes {
			if err := confirmContent(ctx, s, w); err != nil {
				return err
			}
		}
		accept = append(accept, w.GetSha256())
	}
	switch _, err := control.Do(ctx, c, daemonv1.DaemonHandler.Reload, &daemonv1.ReloadRequest{Accept: accept}); {
	case tool.CodeOf(err) == tool.CodePermissionDenied: // it has changed meanwhile
		return err
	case err != nil:
		return exit.With(exit.Failed, err)
	}
	pid, root := c.State().PID, c.State().Identity.Root
	if now, err := dialDaemon(ctx, s, false); err == nil {
		s.WarnOf(now.State().Faults, now.State().Plugins, "")
	}
	return s.Answer(map[string]any{"reloaded": true, "pid": pid, "root": root}, "reloaded the daemon (pid %d) of %s\n", pid, sanitize.Text(root))
}

// confirmContent asks at the terminal whether the content of a file is to be trusted, and returns an
// error unless the answer is yes.
func confirmContent(ctx context.Context, s *session.Session, w *daemonv1.WaitingFile) error {
	file := sanitize.Text(w.GetFile())
	shown := fmt.Sprintf("%s (sha256 %.12s) differs from what is in effect:\n", file, w.GetSha256())
	for _, line := range w.GetDifference() {
		shown += "  " + sanitize.Line(line, 300) + "\n"
	}
	return s.Confirm(ctx, shown, "Trust it? [y/N] ",
		tool.Errorf(tool.CodeApprovalRequired, "nothing was reloaded: %s has other content, and there is no terminal to ask at", file).
			Try("look at it, and: toolhost trust "+file+", or toolhost reload --yes"),
		tool.Errorf(tool.CodeApprovalDenied, "nothing was reloaded: the answer for %s was not yes", file))
}
