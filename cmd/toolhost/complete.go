package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/setup"
	"github.com/toolhost/toolhost/host"
)

// completionTimeout bounds the start of plugins for a completion: the user is typing.
const completionTimeout = 3 * time.Second

// completer returns the words for a position, each followed by a tab and a description if
// there is one.
type completer func(context.Context, *control.Client) []string

// completeArgument completes the first argument of a command.
func completeArgument(s *session.Session, words completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return complete(cmd.Context(), s, words), cobra.ShellCompDirectiveNoFileComp
	}
}

// oneOf completes the only argument of a command with words that no plugin is started for.
func oneOf(words func(context.Context) []string) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveNoFileComp
		}
		return words(cmd.Context()), cobra.ShellCompDirectiveNoFileComp
	}
}

func completeFlag(s *session.Session, cmd *cobra.Command, flag string, words completer) {
	// It only fails for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc(flag,
		func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
			return complete(cmd.Context(), s, words), cobra.ShellCompDirectiveNoFileComp
		})
}

// complete asks the daemon or loads the plugins, as the flags say. It prints nothing: that
// would appear in the line that the user types.
func complete(ctx context.Context, s *session.Session, words completer) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	s.Quiet = true
	s.Flags.Silence()
	if s.Configure(true) != nil {
		return nil
	}
	b, err := s.Open(ctx, session.Needs{})
	if err != nil {
		return nil
	}
	defer func() { _ = b.Close(ctx) }()
	return words(ctx, b)
}

func toolNames(ctx context.Context, b *control.Client) []string {
	all, _ := b.Tools(ctx, host.Filter{}) // errors are not shown in completions
	var out []string
	for _, t := range all {
		out = append(out, t.Name+"\t"+output.Shorten(output.FirstLine(t.Description), 80))
	}
	return out
}

func pluginNames(_ context.Context, b *control.Client) []string {
	var out []string
	for _, s := range b.State().Plugins {
		out = append(out, s.Name+"\t"+string(s.State))
	}
	return out
}

// callerNames returns the callers that the configuration names, and the one that uses
// commands.
func callerNames(s *session.Session) []string {
	s.Quiet = true
	names := []string{setup.CLI}
	if s.Configure(true) == nil {
		for name := range s.Settings().Config.Callers {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return slices.Compact(names)
}

func categories(ctx context.Context, b *control.Client) []string {
	return collect(ctx, b, func(t host.Tool) []string { return t.Categories })
}

func capabilities(ctx context.Context, b *control.Client) []string {
	return collect(ctx, b, func(t host.Tool) []string { return []string{string(t.Permission)} })
}

// collect returns the words of all tools, sorted, without duplicates and empty words.
func collect(ctx context.Context, b *control.Client, words func(host.Tool) []string) []string {
	all, _ := b.Tools(ctx, host.Filter{}) // errors are not shown in completions
	var out []string
	for _, t := range all {
		out = append(out, words(t)...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}
