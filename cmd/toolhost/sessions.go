package main

import (
	"context"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	daemonv1 "github.com/toolhost/toolhost/proto/toolhost/daemon/v1"
)

const aboutSessions = `Show and end the sessions of the daemon.

toolhost call --session NAME begins a session of that name, or goes on with it:
what plugins keep for a session, such as the declarations of eval_form, is there
for the next command. Without --session each call has a session of its own.

A session belongs to the caller who began it, and other callers cannot use or
end it. It ends with toolhost sessions end, with the daemon, when its plugins
end, or after an hour without a call (sessions.idle_time).`

func newSessionsCommand(s *session.Session) *cobra.Command {
	cmd := &cobra.Command{
		Use: "sessions", Short: "List the sessions of the daemon, and end them", Long: aboutSessions,
		Example: `  toolhost call --session work eval_form --arg form='x := 1' --grant exec --yes
  toolhost sessions
  toolhost sessions end work`,
		Args: noArguments, RunE: func(cmd *cobra.Command, _ []string) error { return listSessions(cmd.Context(), s) },
	}
	cmd.AddCommand(&cobra.Command{
		Use: "end NAME", Short: "End a session, so that plugins need not keep its state", Example: "  toolhost sessions end work",
		Args: oneName("a session"), ValidArgsFunction: completeArgument(s, sessionNames),
		RunE: func(cmd *cobra.Command, args []string) error { return endSession(cmd.Context(), s, args[0]) },
	})
	return cmd
}

// daemonOf returns the daemon whose sessions are meant.
func daemonOf(ctx context.Context, s *session.Session) (*control.Client, error) {
	if _, err := s.Logger(); err != nil { // the flag is checked
		return nil, err
	}
	if d := s.Daemon(ctx); d != nil {
		return d, nil
	}
	return nil, s.NoDaemon("")
}

func listSessions(ctx context.Context, s *session.Session) error {
	d, err := daemonOf(ctx, s)
	if err != nil {
		return err
	}
	all, err := d.Sessions(ctx)
	if err != nil {
		return err
	}
	return printed[control.SessionInfo]{
		all: all, none: "no sessions: toolhost call --session NAME begins one", columns: "CALLER|NAME|AGE|IDLE|CALLS|STATE IN",
		row: func(one control.SessionInfo) []string { return sessionRow(one, time.Now()) },
	}.print(s)
}

func endSession(ctx context.Context, s *session.Session, name string) error {
	d, err := daemonOf(ctx, s)
	if err != nil {
		return err
	}
	if _, err := control.Do(ctx, d, daemonv1.DaemonHandler.EndSession, &daemonv1.EndSessionRequest{Name: name}); err != nil {
		return exit.As(exit.BadUsage, err, tool.CodeNotFound) // no tool is involved
	}
	return s.Answer(map[string]any{"session": name, "ended": true}, "ended session %s\n", sanitize.Text(name))
}

// sessionNames completes the names of sessions.
func sessionNames(ctx context.Context, b *control.Client) []string {
	if b.Alone() {
		return nil
	}
	all, _ := b.Sessions(ctx) // errors are not shown in completions
	var out []string
	for _, one := range all {
		out = append(out, one.Name+"\tof "+one.Caller)
	}
	return out
}

// age returns the time since a moment, in whole seconds.
func age(since, now time.Time) string { return now.Sub(since).Round(time.Second).String() }

func sessionRow(one control.SessionInfo, now time.Time) []string {
	idle := age(one.Used, now)
	if one.Calls > 0 {
		idle = "-"
	}
	return []string{
		one.Caller, one.Name, age(one.Began, now), idle, strconv.Itoa(one.Calls),
		output.OrDash(strings.Join(one.Plugins, ", ")),
	}
}
