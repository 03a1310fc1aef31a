package main

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/config"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/output"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/sanitize"
)

func newConfigExplainCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use:   "explain [KEY]",
		Short: "Explain a key of the file, and what is below it",
		Long: `Explain a key of the file, and what is below it: mcp.oidc is oidc below mcp, and NAME stands for a
name that you give. Without KEY these are the keys at the top. With --json print the JSON
Schema of that, for editors.`,
		Example: `  toolhost config explain plugins.NAME.sandbox
  toolhost config explain --json > toolhost.schema.json`,
		Args: cobra.MaximumNArgs(1),
		ValidArgsFunction: func(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
			top, _, _ := findSetting("") // the whole file is there
			return slices.Sorted(maps.Keys(top.Properties)), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(_ *cobra.Command, args []string) error {
			key := strings.Join(args, "")
			if s.Flags.JSON && key == "" {
				_, _ = s.Out.Write(config.Schema())
				return nil
			}
			found, text, err := findSetting(key)
			switch {
			case err != nil:
				return err
			case s.Flags.JSON:
				return s.Out.JSON(text)
			}
			found.print(s.Out, key)
			return nil
		},
	}
}

// setting is what the JSON Schema of the file says of a key.
type setting struct {
	Description          string                     `json:"description"`
	Default              json.RawMessage            `json:"default"`
	Examples             []json.RawMessage          `json:"examples"`
	Ref                  string                     `json:"$ref"`
	AllOf                []setting                  `json:"allOf"`
	Properties           map[string]json.RawMessage `json:"properties"`
	AdditionalProperties json.RawMessage            `json:"additionalProperties"`
	Items                json.RawMessage            `json:"items"`
	Defs                 map[string]json.RawMessage `json:"$defs"`
}

// findSetting returns a key, and its schema; empty: the whole file.
func findSetting(key string) (at setting, text json.RawMessage, err error) {
	text = config.Schema()
	defs := map[string]json.RawMessage{}
	for _, word := range append([]string{""}, strings.FieldsFunc(key, func(r rune) bool { return r == '.' })...) {
		if word != "" {
			var ok bool
			if text, ok = at.Properties[word]; !ok {
				text = at.AdditionalProperties
			}
			if text[0] != '{' {
				hint := output.Suggest(word, slices.Collect(maps.Keys(at.Properties)), "it has "+strings.Join(slices.Sorted(maps.Keys(at.Properties)), ", "))
				return at, nil, exit.Usage(fmt.Sprintf("the file has no key %s", sanitize.Line(key, 200)), hint)
			}
		}
		at = setting{}
		if err := json.Unmarshal(text, &at); err != nil {
			return at, nil, err
		}
		if word == "" {
			defs = at.Defs
		}
		for at.Ref != "" || at.AllOf != nil || at.Items != nil {
			said := at.Description
			below := defs[strings.TrimPrefix(at.Ref, "#/$defs/")]
			switch {
			case at.AllOf != nil:
				below = defs[strings.TrimPrefix(at.AllOf[0].Ref, "#/$defs/")]
			case at.Items != nil:
				below = at.Items
			}
			hidden := at.Properties
			at = setting{}
			if err := json.Unmarshal(below, &at); err != nil {
				return at, nil, err
			}
			if said != "" {
				at.Description = said
			}
			for name, is := range hidden { // false: there it does not count
				if string(is) == "false" {
					delete(at.Properties, name)
				}
			}
		}
		if at.AdditionalProperties == nil {
			at.AdditionalProperties = json.RawMessage("false")
		}
	}
	return at, text, nil
}

// print prints what is said of a key, and of those below it.
func (of setting) print(out *output.Writer, key string) {
	if key != "" {
		out.Printf("%s\n%s\n", sanitize.Line(key, 200), output.Indent(output.Fill(of.Description, helpWidth-2), "  "))
		if len(of.Default) > 0 {
			out.Printf("  Default: %s\n", of.Default)
		}
		for _, e := range of.Examples {
			out.Printf("  Example: %s\n", e)
		}
	}
	if key != "" && (len(of.Properties) > 0 || of.AdditionalProperties[0] == '{') {
		out.Printf("\n")
	}
	if of.AdditionalProperties[0] == '{' {
		out.Printf("below it: %s.NAME\n", key)
	}
	rows := output.Table{}
	for _, name := range slices.Sorted(maps.Keys(of.Properties)) {
		var below setting
		if json.Unmarshal(of.Properties[name], &below) == nil { // the schema is this program's own
			first, _, _ := strings.Cut(below.Description, ". ")
			rows.Add(name, output.Shorten(first, helpWidth-22))
		}
	}
	if len(rows) > 0 {
		out.Table(rows)
	}
}
