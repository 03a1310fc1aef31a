package main

import (
	_ "embed"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// aboutErrors is what the code does not say: an introduction, and a line for each code with its
// meaning and what to do, separated by tabs.
//
//go:embed errors.txt
var aboutErrors string

// codeConstant declares a code in Go.
var codeConstant = regexp.MustCompile(`(?m)^\s(Code\w+)\s+(?:tool\.)?Code\s+= "(\w+)"`)

// errorCodes describes the codes: their exit statuses, and which of them plugins may send, are
// the code's.
func errorCodes(root string) (string, error) {
	read := func(names ...string) (text string, err error) {
		for _, name := range names {
			var b []byte
			if b, err = os.ReadFile(filepath.Join(root, name)); err != nil {
				return "", err
			}
			text += string(b)
		}
		return text, nil
	}
	constants, err := read("pluginsdk/tool/error.go", "cmd/toolhost/internal/exit/exit.go")
	if err != nil {
		return "", err
	}
	values := map[string]string{} // by the names of the constants
	for _, m := range codeConstant.FindAllStringSubmatch(constants, -1) {
		values[m[1]] = m[2]
	}
	b := &strings.Builder{}
	b.WriteString(generated("Error codes", "the code and cmd/toolhost/internal/reference/errors.txt"))
	table := false
	listed := map[string]bool{}
	for line := range strings.Lines(aboutErrors) {
		code, rest, isRow := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		if !isRow {
			b.WriteString(line)
			continue
		}
		if !table {
			b.WriteString("| code | meaning | exit status | what to do |\n|---|---|--:|---|\n")
			table = true
		}
		meaning, todo, _ := strings.Cut(rest, "\t")
		listed[code] = true
		fmt.Fprintf(b, "| `%s` | %s | %s | %s |\n", code, meaning, statusOf(tool.Code(code)), todo)
	}
	for name, code := range values {
		if !listed[code] {
			return "", fmt.Errorf("errors.txt has no line for %q (%s)", code, name)
		}
		delete(listed, code)
	}
	if len(listed) > 0 {
		return "", fmt.Errorf("errors.txt has lines for codes that do not exist: %v", listed)
	}
	wire, err := read("pluginsdk/wire/error.go")
	if err != nil {
		return "", err
	}
	_, list, ok := strings.Cut(wire, "claimable = map[tool.Code]bool{")
	if !ok {
		return "", fmt.Errorf("pluginsdk/wire/error.go does not say which codes plugins may send")
	}
	list, _, _ = strings.Cut(list, "\n}")
	var sent []string
	for _, m := range regexp.MustCompile(`tool\.(Code\w+):`).FindAllStringSubmatch(list, -1) {
		sent = append(sent, "`"+values[m[1]]+"`")
	}
	slices.Sort(sent)
	fmt.Fprintf(b, "\nA plugin may send %s.\nAny other code from a plugin counts as `tool_failed`: what only the host can know, a plugin cannot claim.\n", strings.Join(sent, ", "))
	return b.String(), nil
}

// statusOf is the exit status of a call that ends with a code, or of a command.
func statusOf(code tool.Code) string {
	switch code {
	case exit.CodeUsage:
		return fmt.Sprint(exit.BadUsage)
	case exit.CodeFailed:
		return fmt.Sprint(exit.Failed)
	case tool.CodeAlreadyExists, tool.CodeInvalidDefinition: // no call ends with them
		return "–"
	}
	return fmt.Sprint(exit.Status(&tool.Error{Code: code}))
}
