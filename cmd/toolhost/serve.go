package main

import (
	"fmt"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/daemon"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

const aboutServe = `Run the plugins as a daemon, until it is told to end.

Other commands use a daemon that runs with the same root and plugin directories; with
--no-daemon they work on their own. They say so once on a terminal, each time with
--log-level info, and whenever they do not use a daemon that runs. They find it by its socket, which only
its user can open. There is one daemon to a socket.

--grant lists the capabilities callers may request with toolhost call --grant; --yes
lets callers approve dangerous calls in advance. The caller cli in the configuration
does the same. A dangerous call asks on the caller's terminal. The daemon records calls.

The daemon follows the plugin directories: it serves a binary that is copied in, upgrades
one that is replaced without losing a call, and withdraws one that is removed. It stops a
plugin that is not used for 10 minutes (idle_time); the next call starts the plugin.

SIGHUP, toolhost reload and a change of the configuration file make the daemon read that
file and the plugin directories again. The new configuration is applied as a whole; if any
part is invalid, nothing changes and the log says why. Changes inside the workspace
(--root), where tools may have made them, wait for you: the configuration file for toolhost
reload or toolhost trust, a plugin for toolhost reload or toolhost plugins enable.

The daemon serves numbers for Prometheus (/metrics) and profiles (/debug/pprof/) on its
socket; with --metrics the numbers also on a loopback address, which every user of this
machine can read. The log has a line for each crash, backoff, quarantine and upgrade, and
for each plugin that comes or goes; with --json it is JSON.

SIGTERM, toolhost stop and an interrupt end the daemon: it takes no more calls, waits at most --drain for
those in progress, and exits with status 0; a second signal ends it at once. When the
daemon is ready it says so on standard error, and to systemd (Type=notify).`

func newServeCommand(s *session.Session) *cobra.Command {
	var o daemon.Options
	var grants []string
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plugins as a daemon that other commands use",
		Long:  aboutServe,
		Example: `  toolhost serve --root ~/project --grant fs:read
  toolhost call fs.read --arg path=README.md --root ~/project --grant fs:read`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Grants, err = session.ParseGrants(grants); err != nil {
				return err
			}
			if o.Drain < 0 {
				return exit.Usage(fmt.Sprintf("--drain %v is below zero", o.Drain), "give a time such as 30s")
			}
			return daemon.Serve(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&grants, "grant", nil, "`CAPABILITY` that callers may request, such as fs:read; may be repeated")
	flags.BoolVar(&o.Yes, "yes", false, "let callers run dangerous tools with --yes")
	flags.DurationVar(&o.Drain, "drain", 30*time.Second, "at the end, wait this `DURATION` for calls in progress")
	flags.StringVar(&o.Metrics, "metrics", "", "serve /metrics on this loopback `ADDRESS`, such as 127.0.0.1:9464")
	flags.BoolVar(&o.Profiles, "pprof", false, "serve /debug/pprof/ there, too")
	bindAuditFlag(cmd, &o.Audit)
	completeFlag(s, cmd, "grant", capabilities)
	return cmd
}
