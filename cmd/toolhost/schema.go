package main

import (
	"context"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/llmschema"
)

func (a *app) schemaCommand() *cobra.Command {
	var provider string
	var f *filterFlags
	cmd := &cobra.Command{
		Use:   "schema --for FORMAT",
		Short: "Print the tools as a model or an MCP client is told of them",
		Long: `Print the tools as JSON in the words of those who are to call them:

  openai     "tools" of Chat Completions, and of what is compatible
  anthropic  "tools" of Messages
  gemini     an element of "tools" of generateContent
  mcp        "tools" in the answer to tools/list

Models know the tools by aliases, as they take fewer characters than names have:
fs.read is called fs_read. toolhost call takes either. MCP takes names as they are.

Conditions that are given all have to hold; of several categories, one.`,
		Example: "  toolhost schema --for openai --max-safety safe",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := parseFormat(provider)
			if err != nil {
				return err
			}
			filter, err := f.parse()
			if err != nil {
				return err
			}
			return a.withHost(cmd.Context(), needs{}, func(h *opened) error { return a.printSchema(cmd.Context(), h, format, filter) })
		},
	}
	cmd.Flags().StringVar(&provider, "for", "", "whose `FORMAT`: "+strings.Join(formatNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	f = a.addFilterFlags(cmd)
	return cmd
}

func formatNames() []string {
	var out []string
	for _, f := range llmschema.Formats() {
		out = append(out, string(f))
	}
	return out
}

func parseFormat(s string) (llmschema.Format, error) {
	if s == "" {
		return "", usage("toolhost schema needs --for and a format", "the formats are "+strings.Join(formatNames(), ", "))
	}
	f, err := llmschema.ParseFormat(s)
	if err != nil {
		return "", &failure{exitUsage, err}
	}
	return f, nil
}

// printSchema prints JSON whatever --json says: nobody else reads it.
func (a *app) printSchema(ctx context.Context, h *opened, format llmschema.Format, filter host.Filter) error {
	chosen, err := a.choose(ctx, h, filter)
	if err != nil {
		return err
	}
	var tools []llmschema.Tool
	for _, t := range chosen {
		tools = append(tools, llmschema.Tool{Alias: t.Alias, Definition: t.Definition})
	}
	text, err := llmschema.Export(format, tools)
	if err != nil {
		return err
	}
	_, _ = a.out.Write(text) // its error is told at the end
	return nil
}
