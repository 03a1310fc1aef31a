package main

import (
	"context"
	"slices"
	"time"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
)

// completionTimeout bounds the start of the plugins for a completion: somebody
// waits with a finger on the key.
const completionTimeout = 3 * time.Second

// completer gives the words that may stand somewhere, each with a description
// after a tab where there is one.
type completer func(context.Context, *opened) []string

// completeArgument is for a command whose first argument is one of these words.
func (a *app) completeArgument(words completer) cobra.CompletionFunc {
	return func(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
		if len(args) > 0 {
			return nil, cobra.ShellCompDirectiveDefault
		}
		return a.complete(cmd.Context(), words), cobra.ShellCompDirectiveNoFileComp
	}
}

func (a *app) completeFlag(cmd *cobra.Command, flag string, words completer) {
	// It only fails for a flag that is not there.
	_ = cmd.RegisterFlagCompletionFunc(flag, func(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
		return a.complete(cmd.Context(), words), cobra.ShellCompDirectiveNoFileComp
	})
}

// complete asks the daemon or loads the plugins, as the flags say. It is quiet: what it printed
// would stand in the middle of what somebody types.
func (a *app) complete(ctx context.Context, words completer) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	a.quiet = true
	if a.configure(true) != nil {
		return nil
	}
	a.logLevel = "off"
	h, err := a.open(ctx, needs{})
	if err != nil {
		return nil
	}
	defer func() { _ = h.close(ctx) }()
	return words(ctx, h)
}

func toolNames(ctx context.Context, h *opened) []string {
	all, _ := h.list(ctx, host.Filter{}) // nobody looks at an error here
	var out []string
	for _, t := range all {
		out = append(out, t.Name+"\t"+shorten(firstLine(t.Description), 80))
	}
	return out
}

func pluginNames(_ context.Context, h *opened) []string {
	var out []string
	for _, s := range h.Plugins() {
		out = append(out, s.Name+"\t"+string(s.State))
	}
	return out
}

func categories(ctx context.Context, h *opened) []string {
	return collect(ctx, h, func(t host.Tool) []string { return t.Categories })
}

func capabilities(ctx context.Context, h *opened) []string {
	return collect(ctx, h, func(t host.Tool) []string { return []string{string(t.Permission)} })
}

// collect gathers words of all tools: each once, sorted, no empty ones.
func collect(ctx context.Context, h *opened, words func(host.Tool) []string) []string {
	all, _ := h.list(ctx, host.Filter{}) // nobody looks at an error here
	var out []string
	for _, t := range all {
		out = append(out, words(t)...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}
