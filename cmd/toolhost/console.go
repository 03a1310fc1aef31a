package main

import (
	"context"
	"os"
	"runtime"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutConsole = `Open a page of the daemon in your browser: calls as they happen and where their time went,
plugins and their sandboxes, tools, and the questions that wait for your answer.

The link that is printed is good once, within a minute, and leads to a port of the loopback
address that is open only while there are links and pages. A browser that this command opens
has to be one of yours; with --no-open any is let in that has the link, as behind ssh -L.
A page ends with the daemon, when it was not used for 30 minutes, and with --close.

The daemon is the one on the socket (--socket), whatever its root.`

func newConsoleCommand(s *session.Session) *cobra.Command {
	var noOpen, end bool
	cmd := &cobra.Command{
		Use: "console", Short: "Open a page of the daemon in your browser", Long: aboutConsole,
		Example: `  toolhost console
  toolhost console --no-open
  toolhost console --close`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if end {
				return closeConsole(cmd.Context(), s)
			}
			return openConsole(cmd.Context(), s, !noOpen && hasDisplay())
		},
	}
	cmd.Flags().BoolVar(&noOpen, "no-open", false, "print the link, and open no browser")
	cmd.Flags().BoolVar(&end, "close", false, "end the pages that are open, and links that were not used")
	cmd.MarkFlagsMutuallyExclusive("no-open", "close")
	return cmd
}

// hasDisplay reports whether a browser that is opened can be seen.
func hasDisplay() bool {
	return runtime.GOOS == "darwin" || os.Getenv("DISPLAY") != "" || os.Getenv("WAYLAND_DISPLAY") != ""
}

func openConsole(ctx context.Context, s *session.Session, browser bool) error {
	c, err := dialDaemon(ctx, s, os.Geteuid() == 0)
	if err != nil {
		return err
	}
	r, err := control.Do(ctx, c, daemonv1.DaemonHandler.OpenConsole, &daemonv1.OpenConsoleRequest{OwnBrowser: browser})
	if err != nil {
		return err
	}
	if browser {
		if err := openBrowser(r.GetUrl()); err != nil {
			browser = false
			s.Err.Printf("open it yourself: no browser could be opened (%v)\n", err)
		}
	}
	return s.Answer(map[string]any{"url": r.GetUrl(), "opened": browser}, "%s\n", r.GetUrl())
}

func closeConsole(ctx context.Context, s *session.Session) error {
	c, err := dialDaemon(ctx, s, os.Geteuid() == 0)
	if err != nil {
		return err
	}
	r, err := control.Do(ctx, c, daemonv1.DaemonHandler.CloseConsole, &daemonv1.CloseConsoleRequest{})
	if err != nil {
		return err
	}
	return s.Answer(map[string]any{"closed": r.GetPages()}, "pages closed: %d\n", r.GetPages())
}
