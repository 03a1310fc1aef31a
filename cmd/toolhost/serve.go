package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// serveFlags are the daemon's.
type serveFlags struct {
	grants []string
	yes    bool
	drain  time.Duration
	audit  string
}

const aboutServe = `Run the plugins as a daemon, until it is told to end.

The other commands use a daemon that runs with the same root and plugin directories,
and say so; --no-daemon has them work on their own. They find it by its socket, which
only its user can open. There is one daemon to a socket.

What callers get is decided here, or by the configuration's caller cli: --grant names
the capabilities that toolhost call --grant can have, and --yes has its --yes count. A
dangerous call asks on the caller's terminal. Calls are put on record by the daemon.

The daemon follows the plugin directories: a binary that is copied in is served, one that
is replaced is upgraded without losing a call, one that is removed is withdrawn. A plugin
that nobody uses for 10 minutes (idle_time) is stopped, and starts with its next call.

SIGHUP and toolhost reload, and a change of the configuration file, read the file and the
plugin directories again: all that the file says is taken into force, or, if anything is
wrong with it, nothing is, and the log says why. What changes inside the workspace (--root),
where tools may have written it, waits for your word: a file for toolhost reload or
toolhost trust, a plugin for toolhost reload or toolhost plugins enable. SIGTERM and an interrupt end the daemon: it
takes no more calls, those under way may end within --drain, and the exit status is 0;
a second one ends it at once. When it is ready it says so on standard error, and to
systemd (Type=notify).`

func (a *app) serveCommand() *cobra.Command {
	var f serveFlags
	cmd := &cobra.Command{
		Use:   "serve",
		Short: "Run the plugins as a daemon that the other commands use",
		Long:  aboutServe,
		Example: `  toolhost serve --root ~/project --grant fs:read
  toolhost call fs.read '{"path":"README.md"}' --root ~/project --grant fs:read`,
		Args: noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error { return a.serve(cmd.Context(), f) },
	}
	flags := cmd.Flags()
	flags.StringSliceVar(&f.grants, "grant", nil, "a `capability` that callers may have, such as fs:read; may be repeated")
	flags.BoolVar(&f.yes, "yes", false, "let callers run dangerous tools with --yes")
	flags.DurationVar(&f.drain, "drain", 30*time.Second, "how long calls under way may take to end when the daemon ends")
	flags.StringVar(&f.audit, "audit", "", "the `file` in which calls are put on record, or "+noAudit+" (default $"+auditVariable+
		", else toolhost/audit.jsonl in the user's state directory)")
	a.completeFlag(cmd, "grant", capabilities)
	return cmd
}

// serve runs a daemon until ctx ends, and shuts it down in good order.
func (a *app) serve(ctx context.Context, f serveFlags) error {
	grants, err := parseGrants(f.grants)
	if err != nil {
		return err
	}
	if f.drain < 0 {
		return usage(fmt.Sprintf("--drain %v is below zero", f.drain), "give a time such as 30s")
	}
	claim, path, err := a.claim()
	if err != nil {
		return err
	}
	// In this order: the socket is free when nothing of this daemon is left.
	d, err := a.newDaemon(ctx, callerPolicy{grants: grants, yes: f.yes}, f.audit)
	if err != nil && ctx.Err() != nil { // it is not needed any more
		return claim.Release()
	}
	if err != nil {
		return errors.Join(err, claim.Release())
	}
	return errors.Join(a.serveOn(ctx, claim, path, d, f.drain), d.close(ctx), claim.Release())
}

// claim takes the socket. It is what a second daemon fails at, before it starts
// anything.
func (a *app) claim() (*control.Claim, string, error) {
	path, err := a.socketPath()
	if err != nil {
		return nil, "", err
	}
	if path == "" || a.noDaemon {
		return nil, "", usage("a daemon needs a socket, and there is to be none", "leave out --no-daemon, and name a socket with --socket or "+socketVariable)
	}
	root, err := canonical(a.root)
	if err != nil {
		return nil, "", &failure{exitUsage, err}
	}
	claim, err := control.Take(path, control.Holder{PID: os.Getpid(), Since: time.Now(), Root: root})
	return claim, path, socketFailure(err)
}

// socketFailure is the error of a socket that cannot be had: no tool has a part in it.
func socketFailure(err error) error {
	switch tool.CodeOf(err) {
	case tool.CodeAlreadyExists:
		return &failure{exitFailed, err}
	case tool.CodeInvalidArguments:
		return &failure{exitUsage, err}
	}
	return err
}

func (a *app) serveOn(ctx context.Context, claim *control.Claim, path string, d *daemon, drain time.Duration) error {
	ln, err := claim.Listen(control.MaxConnections, func(err error) { d.log.Warn("a connection was refused", "reason", err) })
	if err != nil {
		return socketFailure(err)
	}
	hangUp := make(chan os.Signal, 1)
	signal.Notify(hangUp, syscall.SIGHUP)
	defer signal.Stop(hangUp)
	changed := make(chan struct{}, 1)
	defer a.watchConfig(d, changed)()
	defer d.follow(a.namedDirs())()

	server := control.NewServer(d, d.log)
	served := make(chan error, 1)
	go func() { served <- server.Serve(ln) }()
	a.noteProtected(d)
	a.err.printf("toolhost: ready: %d tools of %d plugins on %s (pid %d)\n", d.host.Len(), len(d.host.Plugins()), path, os.Getpid())
	notify("READY=1")
	err = d.run(ctx, hangUp, changed, served)
	notify("STOPPING=1")
	if err != nil { // the socket failed: there is nobody to wait for
		drain = 0
	}
	a.err.printf("toolhost: ending: calls under way may take %v\n", drain)
	bound, cancel := context.WithTimeout(context.WithoutCancel(ctx), drain)
	defer cancel()
	server.Shutdown(bound)
	if err == nil {
		err = <-served // nobody is served any more
	}
	return err
}

// newDaemon makes a daemon with its plugins loaded.
func (a *app) newDaemon(ctx context.Context, p callerPolicy, record string) (*daemon, error) {
	named := a.namedDirs()
	identity, err := a.identity(named)
	if err != nil {
		return nil, &failure{exitUsage, err}
	}
	logger, err := a.logger()
	if err != nil {
		return nil, err
	}
	l, _, err := a.openLocal(ctx, named, needs{options: func() ([]host.Option, func(), error) { return a.record(record) }})
	if err != nil {
		return nil, err
	}
	for _, fault := range l.faults {
		a.warn(fault)
	}
	d := &daemon{host: l, identity: identity, since: time.Now(), policy: p, log: logger, faults: l.faults}
	d.reload, d.sync = a.reloader(d), a.pluginSyncer(d)
	return d, nil
}
