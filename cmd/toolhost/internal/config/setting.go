package config

import (
	"encoding/json"
	"slices"

	_ "embed"
)

// SchemaURL is where editors find the JSON Schema of the file.
const SchemaURL = "https://raw.githubusercontent.com/toolhost/toolhost/main/cmd/toolhost/internal/config/schema.json"

// Both, and table.go, are written by make generate.
var (
	//go:embed schema.json
	schemaText []byte
	//go:embed initial.yaml
	initialText []byte
)

// Schema returns the JSON Schema (2020-12) of the file, for editors and other programs.
// [Parse] also judges the ranges of times and sizes, and settings that contradict each
// other. The caller owns the result.
func Schema() json.RawMessage { return slices.Clone(schemaText) }

// Initial returns a file to start from: every setting, explained and commented out, so that it says what
// an empty file says. The caller owns the result.
func Initial() []byte { return slices.Clone(initialText) }
