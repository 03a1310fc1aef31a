package main

import (
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func newSchemaCommand(s *session.Session) *cobra.Command {
	var name string
	var filter filterFlags
	cmd := &cobra.Command{
		Use:   "schema --for FORMAT",
		Short: "Print tool definitions in a model provider's format",
		Long: `Print tool definitions as JSON in the format of a model provider or of MCP:

  openai     "tools" of Chat Completions and compatible APIs
  anthropic  "tools" of Messages
  gemini     an element of "tools" of generateContent
  mcp        "tools" in the answer to tools/list

Models call tools by aliases, because they accept fewer characters than names
have: fs.read becomes fs_read. toolhost call takes both. MCP takes names as they are.

A tool has to pass every filter; of several categories it needs one.`,
		Example: "  toolhost schema --for openai --max-safety safe",
		Args:    noArguments,
		RunE: func(cmd *cobra.Command, _ []string) error {
			format, err := parseFormat(name)
			if err != nil {
				return err
			}
			return filter.use(cmd.Context(), s, func(tools []host.Tool) error { return exportTools(s, format, tools) })
		},
	}
	cmd.Flags().StringVar(&name, "for", "", "`FORMAT` to print: "+strings.Join(formatNames(), ", "))
	_ = cmd.RegisterFlagCompletionFunc("for", cobra.FixedCompletions(formatNames(), cobra.ShellCompDirectiveNoFileComp))
	filter.bind(s, cmd)
	return cmd
}

func formatNames() []string {
	var out []string
	for _, f := range llmschema.Formats() {
		out = append(out, string(f))
	}
	return out
}

func parseFormat(name string) (llmschema.Format, error) {
	if name == "" {
		return "", exit.Usage("toolhost schema needs --for and a format", "the formats are "+strings.Join(formatNames(), ", "))
	}
	f, err := llmschema.ParseFormat(name)
	if err != nil {
		return "", exit.With(exit.BadUsage, err)
	}
	return f, nil
}

// exportTools prints JSON with or without --json: the output is only for programs.
func exportTools(s *session.Session, format llmschema.Format, tools []host.Tool) error {
	var all []tool.Definition
	for _, t := range tools {
		all = append(all, t.Definition)
	}
	text, err := llmschema.Export(format, all)
	if err != nil {
		return err
	}
	_, _ = s.Out.Write(text) // errors of writing are reported at the end
	return nil
}
