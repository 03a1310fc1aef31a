package main

import (
	"context"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/daemon"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/internal/remedy"
)

const aboutServe = `Run the plugins as a daemon, until it is stopped.

Commands with the same root and plugin directories use it, by its socket, which only its user
can open; with --no-daemon they work on their own. They say so once on a terminal, and whenever
they do not use a daemon that runs.

--detach runs it in the background: the command ends when the daemon is ready, and prints its
pid, its socket and the file of its log, or fails with what the daemon said.

--grant and --yes are what callers may say, too, as the caller cli of the configuration has it.
A dangerous call asks on the caller's terminal.

The daemon follows the plugin directories: it serves a binary that is copied in, upgrades
one that is replaced without losing a call, and withdraws one that is removed. A plugin that
is not used for 10 minutes (idle_time) is stopped until its next call.

SIGHUP, toolhost reload and a change of the configuration file make the daemon read that
file and the plugin directories again. The new configuration is applied as a whole; if any
part is invalid, nothing changes and the log says why. Changes inside the workspace
(--root), where tools may have made them, wait for toolhost reload, toolhost trust or toolhost
plugins enable.

Its socket, and metrics.address if the configuration names one, have numbers for Prometheus
(/metrics) and profiles (/debug/pprof/). The log has a line for each crash, backoff, quarantine
and upgrade, and for each plugin that comes or goes; with --json it is JSON.

SIGTERM, toolhost stop and an interrupt end the daemon: it takes no more calls, waits at most
--drain for those in progress, and exits with status 0; a second signal ends it at once. When
it is ready it says so on standard error, and to systemd (Type=notify).

--mcp stdio serves one MCP client on standard input and output, for the configuration of
Claude Code, Cursor, VS Code and others, until the client leaves. With a daemon of the same
configuration it is a door to that, and ends with it; without one, with --no-daemon, or with flags
that ask for more, a host of its own with no socket. It says which on standard error. The client
is the caller mcp of the configuration, or the one of --caller.

--mcp http runs the daemon and serves MCP clients at /mcp, on ` + "127.0.0.1:7411" + ` or the address of
--listen or mcp.listen. Each client needs a token, on this machine too: toolhost tokens new NAME
makes one of the caller NAME. An address of other machines needs a certificate (mcp.tls).
/healthz says whether the process lives, /readyz whether it serves.

--plugin FILE makes an MCP server of one executable, which need not be installed: its tools
alone, with the same checks, grants, approval and record as those of any plugin.

--nats URL joins the fleet of the hosts that meet on a NATS server; --nats embedded runs a server
in the daemon, on port 4222 of 127.0.0.1, for hosts on this machine. Nothing is shared or mounted
but what nats.share and nats.mount in the configuration name. If no server is reached, the daemon
serves its own tools and goes on trying. See toolhost fleet.`

// The values of --mcp.
const (
	mcpStdio = "stdio"
	mcpHTTP  = "http"
)

var mcpWays = []string{mcpStdio, mcpHTTP}

// speaksOnStdout reports whether standard output belongs to a protocol, so that nothing else may
// be printed there.
func speaksOnStdout(cmd *cobra.Command) bool {
	f := cmd.Flags().Lookup("mcp")
	return f != nil && f.Value.String() == mcpStdio
}

func newServeCommand(s *session.Session) *cobra.Command {
	var o daemon.Options
	var grants []string
	var mcp string
	var detach bool
	var f fleetFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plugins as a daemon, or for MCP clients",
		Long:  aboutServe,
		Example: `  toolhost serve --root ~/project --grant fs:read
  toolhost call fs.read --arg path=README.md --root ~/project --grant fs:read
  toolhost serve --mcp stdio --root ~/project --grant fs:read
  toolhost serve --mcp stdio --plugin ./hello
  toolhost serve --mcp http`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) (err error) {
			if o.Grants, err = session.ParseGrants(grants); err != nil {
				return err
			}
			if o.Drain < 0 {
				return exit.Usage(fmt.Sprintf("--drain %v is below zero", o.Drain), "give a time such as 30s")
			}
			if o.Fleet, err = f.parse(cmd.Flags().Changed); err != nil {
				return err
			}
			switch given := cmd.Flags().Changed; {
			case mcp == mcpStdio && given("nats"):
				return exit.Usage("--nats has no effect with --mcp stdio", "the daemon joins a fleet: toolhost serve, or toolhost serve --mcp http")
			case mcp != "" && !slices.Contains(mcpWays, mcp):
				return exit.Usage(fmt.Sprintf("--mcp %q is not a way to serve MCP clients", mcp), "use "+strings.Join(mcpWays, " or "))
			case mcp == "" && given("plugin"):
				return exit.Usage("--plugin has no effect without --mcp", "commands take --plugin themselves; to serve MCP clients, add --mcp stdio")
			case mcp != mcpHTTP && given("listen"):
				return exit.Usage("--listen has no effect without --mcp http", "add --mcp http, or leave it out")
			case mcp != mcpStdio && given("caller"):
				return exit.Usage("--caller has no effect without --mcp stdio", "over HTTP, the token says who the caller is")
			case mcp == mcpStdio && (!isCallerName(o.Caller) || o.Caller == setup.CLI):
				return exit.Usage(fmt.Sprintf("--caller %q is not a name for an MCP client", o.Caller),
					"use 1 to 64 letters, digits, _, . and -, and not "+setup.CLI)
			case mcp == mcpStdio && detach:
				return exit.Usage("--detach has no effect with --mcp stdio", "the client starts and ends it")
			case mcp == mcpStdio:
				remedy.Say(remediesWithoutSocket())
				return daemon.ServeStdio(cmd.Context(), s, o)
			}
			if detach {
				return serveDetached(cmd.Context(), s)
			}
			o.HTTP, o.Caller = mcp == mcpHTTP, ""
			return daemon.Serve(cmd.Context(), s, o)
		},
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&grants, "grant", nil, "`CAPABILITY` that callers may request, such as fs:read; may be repeated")
	flags.BoolVar(&o.Yes, "yes", false, "let callers run dangerous tools with --yes")
	flags.BoolVar(&detach, "detach", false, "run in the background, and return when it is ready")
	flags.DurationVar(&o.Drain, "drain", daemon.DefaultDrain, "at the end, wait this `DURATION` for calls in progress")
	flags.StringVar(&mcp, "mcp", "", "serve MCP clients, this `WAY`: "+strings.Join(mcpWays, " or "))
	flags.StringVar(&o.Listen, "listen", "", "with --mcp http, listen on this `ADDRESS` (default mcp.listen in the configuration, else 127.0.0.1:7411)")
	flags.StringVar(&o.Caller, "caller", setup.MCP, "with --mcp stdio, the `NAME` of the caller that the client is")
	f.bind(cmd)
	bindAuditFlag(cmd, &o.Audit)
	s.Flags.BindPlugin(cmd)
	completeFlag(s, cmd, "caller", func(context.Context, *control.Client) []string { return callerNames(s) })
	_ = cmd.RegisterFlagCompletionFunc("mcp", cobra.FixedCompletions(mcpWays, cobra.ShellCompDirectiveNoFileComp))
	completeFlag(s, cmd, "grant", capabilities)
	return cmd
}
