package main

import (
	"encoding/json"
	"fmt"
	"os/exec"
	"strings"
)

// command is what toolhost help --json prints.
type command struct {
	Name, Usage, Short, Long, Example string
	Flags                             []struct{ Name, Shorthand, Value, Usage, Default string }
	Commands                          []command
}

// commands describes the commands of the program, by what it says of itself.
func commands(root string) (string, error) {
	help := exec.Command("go", "run", "./cmd/toolhost", "help", "--json")
	help.Dir = root
	text, err := help.Output()
	if err != nil {
		return "", fmt.Errorf("%s: %w", help, err)
	}
	var all command
	if err := json.Unmarshal(text, &all); err != nil {
		return "", fmt.Errorf("%s: %w", help, err)
	}
	b := &strings.Builder{}
	b.WriteString(generated("Commands", "the help of the commands"))
	for _, c := range all.Commands {
		fmt.Fprintf(b, "- [%s](#%s): %s\n", c.Name, strings.ReplaceAll(c.Name, " ", "-"), c.Short)
	}
	b.WriteString("\nThe flags of `toolhost` are those of every command. `toolhost help COMMAND` shows the same in a terminal.\n")
	all.write(b)
	return b.String(), nil
}

func (c command) write(b *strings.Builder) {
	fmt.Fprintf(b, "\n## %s\n\n", c.Name)
	if c.Long == "" {
		c.Long = c.Short + "."
	}
	writeProse(b, c.Long)
	if usage := strings.TrimSuffix(c.Usage, " [flags]"); usage != c.Name && usage != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", usage)
	}
	if len(c.Flags) > 0 {
		b.WriteString("\n")
	}
	for _, f := range c.Flags {
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		if f.Value != "" {
			name += " " + f.Value
		}
		usage := cell(f.Usage)
		if f.Default != "" {
			usage += " (default " + f.Default + ")"
		}
		fmt.Fprintf(b, "- `%s`: %s\n", name, usage)
	}
	if c.Example != "" {
		fmt.Fprintf(b, "\n```text\n%s\n```\n", strings.ReplaceAll(strings.TrimPrefix(c.Example, "  "), "\n  ", "\n"))
	}
	for _, below := range c.Commands {
		below.write(b)
	}
}

// writeProse writes a help text: what is indented stays as it is.
func writeProse(b *strings.Builder, text string) {
	inside := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		indented := strings.HasPrefix(line, "  ")
		switch {
		case indented && !inside:
			b.WriteString("\n```text\n")
		case !indented && inside:
			b.WriteString("```\n")
		}
		if inside = indented; indented {
			line = strings.TrimPrefix(line, "  ")
		} else {
			line = strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(line)
			if strings.HasPrefix(line, "- ") { // it is not a list
				line = `\` + line
			}
		}
		b.WriteString(line)
	}
	if inside {
		b.WriteString("```\n")
	}
}
