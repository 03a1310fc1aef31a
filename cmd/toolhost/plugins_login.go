package main

import (
	"context"
	"errors"
	"fmt"
	"os/exec"
	"runtime"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

func newPluginsLoginCommand(s *session.Session) *cobra.Command {
	var timeout time.Duration
	var noBrowser, forget bool
	cmd := &cobra.Command{
		Use: "login NAME", Short: "Log in to an MCP server that is reached by a URL",
		Long: `Log in to an MCP server that is reached by a URL and wants OAuth. Open the URL that is printed,
which is good once, if your browser does not: it leads to the server's authorization server, whose
host is printed, and returns to a port of this machine. The tokens are kept in a file that only you
can read, refreshed when they expire, and sent to the server's own host only. A daemon uses them
from its next connection on, and a server that could not be used without them is started.
--forget forgets them, and the client that was registered for them.`,
		Example: `  toolhost plugins login tracker
  toolhost plugins login tracker --forget`,
		Args: oneName("an MCP server"), ValidArgsFunction: completeArgument(s, serverNames),
		RunE: func(cmd *cobra.Command, args []string) error {
			if forget {
				return logout(s, args[0])
			}
			return login(cmd.Context(), s, args[0], timeout, !noBrowser)
		},
	}
	cmd.Flags().DurationVar(&timeout, "timeout", 5*time.Minute, "wait this `DURATION` for the browser")
	cmd.Flags().BoolVar(&noBrowser, "no-browser", false, "print the URL, and open no browser")
	cmd.Flags().BoolVar(&forget, "forget", false, "log out: forget the tokens")
	return cmd
}

// upstreamOf returns an MCP server that is reached by a URL. Nothing is connected.
func upstreamOf(s *session.Session, name string) (*mcpclient.Upstream, error) {
	if err := s.Unread(); err != nil {
		return nil, err
	}
	set, err := s.Settings().Servers()
	if err != nil {
		return nil, err
	}
	one, ok := set.Get(name)
	switch {
	case !ok:
		return nil, unknownServer(name, set.Names())
	case one.Err != nil:
		return nil, exit.Usage(fmt.Sprintf("the MCP server %s cannot be used: %v", name, one.Err), "mend "+one.From)
	case one.Server.URL == "":
		return nil, exit.Usage(fmt.Sprintf("the MCP server %s is a program, which takes no login", name),
			"give it what it needs in its env")
	case !one.Server.Enabled:
		return nil, exit.Usage(fmt.Sprintf("the MCP server %s is disabled", name), "enable it in "+one.File)
	}
	u, err := one.Upstream()
	if err != nil {
		return nil, exit.With(exit.BadUsage, err)
	}
	return u, nil
}

func login(ctx context.Context, s *session.Session, name string, timeout time.Duration, browser bool) error {
	u, err := upstreamOf(s, name)
	if err != nil {
		return err
	}
	open := func(page, issuer string) error {
		s.Err.Printf("log in to %s at %s, here:\n  %s\n", name, sanitize.Line(issuer, 300), page)
		if !browser {
			return nil
		}
		if err := openBrowser(page); err != nil {
			s.Err.Printf("open it yourself: no browser could be opened (%v)\n", err)
		}
		return nil
	}
	if err := u.Login(ctx, mcpclient.LoginOptions{OpenBrowser: open, Timeout: timeout}); err != nil {
		if ctx.Err() != nil {
			return exit.With(exit.Ended, err)
		}
		return exit.With(exit.Failed, err)
	}
	if err := startAgain(ctx, s, name); err != nil { // the login counts all the same
		s.Warn(tool.AsError(err))
	}
	return s.Answer(map[string]any{"server": name, "logged_in": true}, "logged in to %s\n", name)
}

// startAgain starts a server that could not be used without the login: calls would wait for the time
// at which it may be tried again.
func startAgain(ctx context.Context, s *session.Session, name string) error {
	b, err := s.Open(ctx, session.Needs{})
	if err != nil {
		return err
	}
	status, _ := session.Status(b.State().Plugins, name)
	if slices.Contains([]plugin.State{plugin.Refused, plugin.Backoff, plugin.Quarantined}, status.State) {
		_, err = control.Do(ctx, b, daemonv1.DaemonHandler.RestartPlugin, &daemonv1.RestartPluginRequest{Name: name})
	}
	return errors.Join(err, b.Close(ctx))
}

func logout(s *session.Session, name string) error {
	u, err := upstreamOf(s, name)
	if err != nil {
		return err
	}
	if err := u.Logout(); err != nil {
		return exit.With(exit.Failed, err)
	}
	return s.Answer(map[string]any{"server": name, "logged_in": false}, "logged out of %s\n", name)
}

// openBrowser shows a page in the user's browser. The URL is an argument, which no shell reads and other
// users may.
func openBrowser(url string) error {
	opener := "xdg-open"
	if runtime.GOOS == "darwin" {
		opener = "open"
	}
	cmd := exec.Command(opener, url) //nolint:gosec // a URL that begins with a scheme
	if err := cmd.Start(); err != nil {
		return err
	}
	go func() { _ = cmd.Wait() }() // it may stay as long as the browser
	return nil
}
