package main

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
)

const contract = "proto/toolhost/plugin/v1/plugin.proto"

var (
	declared = regexp.MustCompile(`^(service|message|enum) (\w+) \{(\})?$`)
	method   = regexp.MustCompile(`^rpc (\w+)\((.*)\) returns \((.*)\);$`)
	field    = regexp.MustCompile(`^(?:(repeated|optional) )?(\S+) (\w+) = (\d+)`)
	choice   = regexp.MustCompile(`^(\w+) = (\d+)`)
)

// protocol describes the messages of the plugin protocol, from the comments of the contract.
func protocol(root string) (string, error) {
	text, err := os.ReadFile(filepath.Join(root, contract))
	if err != nil {
		return "", err
	}
	b := &strings.Builder{}
	b.WriteString(generated("Messages of the plugin protocol", contract))
	b.WriteString("[The plugin protocol](../plugin-protocol.md) describes the handshake, the frames of a stream and what a\n" +
		"plugin in another language must do. These are the calls and messages of\n[`plugin.proto`](../../" + contract + ").\n")
	var comment []string
	group, in := "", "" // the oneof, and whether it is a service, message or enum
	about := func() string {
		out := strings.Join(comment, " ")
		comment = nil
		return out
	}
	for n, line := range strings.Split(string(text), "\n") {
		line = strings.TrimSpace(line)
		switch {
		case strings.HasPrefix(line, "//"):
			if !strings.Contains(line, "buf:lint") {
				comment = append(comment, strings.TrimSpace(strings.TrimPrefix(line, "//")))
			}
		case line == "":
			comment = nil
		case declared.MatchString(line):
			m := declared.FindStringSubmatch(line)
			in = m[1]
			fmt.Fprintf(b, "\n## %s\n", m[2])
			if text := about(); text != "" {
				fmt.Fprintf(b, "\n%s\n", text)
			}
			if head := map[string]string{
				"service": "\n| call | takes | returns | |\n|---|---|---|---|\n",
				"message": "\n| field | number | type | |\n|---|--:|---|---|\n",
				"enum":    "\n| value | number | |\n|---|--:|---|\n",
			}[in]; m[3] == "" {
				b.WriteString(head)
			}
		case strings.HasPrefix(line, "oneof "):
			group, comment = strings.Fields(line)[1], nil
		case line == "}":
			group = ""
		case in == "service" && method.MatchString(line):
			m := method.FindStringSubmatch(line)
			fmt.Fprintf(b, "| `%s` | `%s` | `%s` | %s |\n", m[1], m[2], m[3], cell(about()))
		case in == "enum" && choice.MatchString(line):
			m := choice.FindStringSubmatch(line)
			fmt.Fprintf(b, "| `%s` | %s | %s |\n", m[1], m[2], cell(about()))
		case in == "message" && field.MatchString(line):
			m := field.FindStringSubmatch(line)
			kind, text := strings.TrimSpace(m[1]+" "+m[2]), about()
			if group != "" {
				text = strings.TrimSpace("One of `" + group + "`. " + text)
			}
			fmt.Fprintf(b, "| `%s` | %s | `%s` | %s |\n", m[3], m[4], kind, cell(text))
		case in != "" && !strings.HasPrefix(line, "reserved "):
			return "", fmt.Errorf("%s, line %d: %q is not understood", contract, n+1, line)
		}
	}
	return b.String(), nil
}
