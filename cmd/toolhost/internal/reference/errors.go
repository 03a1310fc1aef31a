package main

import (
	_ "embed"
	"fmt"
	"slices"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/errorcode"
)

//go:embed errors.txt
var aboutErrors string

// errorCodes describes the codes.
func errorCodes(string) (string, error) {
	b := &strings.Builder{}
	b.WriteString(generated("Error codes", "internal/errorcode and cmd/toolhost/internal/reference/errors.txt"))
	b.WriteString(aboutErrors + "\n| code | meaning | exit status | what to do |\n|---|---|--:|---|\n")
	var sent []string
	for _, r := range slices.Concat(errorcode.Table, exit.Own) {
		fmt.Fprintf(b, "| `%s` | %s | %d | %s |\n", r.Code, r.Meaning, r.Exit, r.Do)
		if r.From == errorcode.Plugin {
			sent = append(sent, "`"+string(r.Code)+"`")
		}
	}
	slices.Sort(sent)
	fmt.Fprintf(b, "\nA plugin may send %s.\nAny other code from a plugin counts as `tool_failed`: what only the host can know, "+
		"a plugin cannot claim.\n", strings.Join(sent, ", "))
	return b.String(), nil
}
