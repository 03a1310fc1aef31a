package main

import (
	"fmt"
	"strings"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/verify"
)

// checks lists the checks of toolhost dev verify.
func checks(string) (string, error) {
	b := &strings.Builder{}
	b.WriteString(generated("What dev verify checks", "cmd/toolhost/internal/verify"))
	fmt.Fprintf(b, "`toolhost dev verify FILE` makes these %d checks of a plugin in any language, in this order, each with what has to\n"+
		"hold. One that needs another that has failed is skipped. One that fails says what to do, and makes the exit status 1.\n",
		len(verify.Checks()))
	group := ""
	for _, c := range verify.Checks() {
		if g := c.Group(); g != group {
			group = g
			fmt.Fprintf(b, "\n## %s\n\n", verify.Title(g))
		}
		fmt.Fprintf(b, "- [`%s`](../plugin-protocol.md#%s): %s\n", c.ID, c.See, cell(c.What))
	}
	return b.String(), nil
}
