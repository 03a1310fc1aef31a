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
type completer func(*opened) []string

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

// complete loads the plugins as the flags say. It is quiet: what it printed
// would stand in the middle of what somebody types.
func (a *app) complete(ctx context.Context, words completer) []string {
	ctx, cancel := context.WithTimeout(ctx, completionTimeout)
	defer cancel()
	a.logLevel = "off"
	h, err := a.open(ctx)
	if err != nil {
		return nil
	}
	defer func() { _ = h.shutDown(ctx) }()
	return words(h)
}

func toolNames(h *opened) []string {
	var out []string
	for _, t := range h.Tools(host.Filter{}) {
		out = append(out, t.Name+"\t"+shorten(firstLine(t.Description), 80))
	}
	return out
}

func pluginNames(h *opened) []string {
	var out []string
	for _, s := range h.Plugins() {
		out = append(out, s.Name+"\t"+string(s.State))
	}
	return out
}

func categories(h *opened) []string {
	return collect(h, func(t host.Tool) []string { return t.Categories })
}

func capabilities(h *opened) []string {
	return collect(h, func(t host.Tool) []string { return []string{string(t.Permission)} })
}

// collect gathers words of all tools: each once, sorted, no empty ones.
func collect(h *opened, words func(host.Tool) []string) []string {
	var out []string
	for _, t := range h.Tools(host.Filter{}) {
		out = append(out, words(t)...)
	}
	slices.Sort(out)
	return slices.DeleteFunc(slices.Compact(out), func(s string) bool { return s == "" })
}
