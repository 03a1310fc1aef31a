// Command reference writes docs/reference from the code: run it in the repository's root, as
// make generate does. It needs no network. A test says when the documents are not as it would
// write them.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
)

// directory has the documents, below the repository's root.
const directory = "docs/reference"

// documents are made from the repository whose root is given.
var documents = map[string]func(root string) (string, error){
	"commands.md": commands,
	"errors.md":   errorCodes,
	"metrics.md":  metricNames,
	"verify.md":   checks,
}

func main() {
	if err := write("."); err != nil {
		fmt.Fprintln(os.Stderr, "reference:", err)
		os.Exit(1)
	}
}

func write(root string) error {
	for name, document := range documents {
		text, err := document(root)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if err := os.WriteFile(filepath.Join(root, directory, name), []byte(text), 0o644); err != nil { //nolint:gosec // for all to read
			return err
		}
	}
	return nil
}

// generated is the head of a document that is made from a part of the repository.
func generated(title, source string) string {
	return fmt.Sprintf("<!-- Made by make generate from %s. -->\n\n# %s\n\n", source, title)
}

// cell escapes a text for a cell of a table. What is between backquotes stays as it is.
func cell(text string) string {
	parts := strings.Split(strings.NewReplacer("|", `\|`, "\n", " ").Replace(text), "`")
	for i := 0; i < len(parts); i += 2 {
		parts[i] = strings.NewReplacer("*", `\*`, "<", "&lt;").Replace(parts[i])
	}
	return strings.Join(parts, "`")
}
