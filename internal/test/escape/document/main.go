// Command document writes docs/sandbox.md. Run it in the repository's root.
package main

import (
	"fmt"
	"os"

	"github.com/toolhost/toolhost/internal/test/escape"
)

func main() {
	if err := os.WriteFile("docs/sandbox.md", []byte(escape.Document()), 0o644); err != nil { //nolint:gosec // for all to read
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}
