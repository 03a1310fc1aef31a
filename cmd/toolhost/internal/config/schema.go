package config

import (
	_ "embed"
	"encoding/json"
	"slices"
)

// SchemaURL is where editors find the JSON Schema of the file.
const SchemaURL = "https://raw.githubusercontent.com/toolhost/toolhost/main/cmd/toolhost/internal/config/schema.json"

//go:embed schema.json
var schemaText []byte

//go:embed initial.yaml
var initialText []byte

// Schema is the JSON Schema (2020-12) of the file, for editors and other programs. It
// says less than [Parse], which also judges settings beside each other and ranges of
// times and sizes: what Parse takes fits the schema. The caller owns it.
func Schema() json.RawMessage { return slices.Clone(schemaText) }

// Initial is a file to start from: every setting, explained and commented out, so
// that it says what an empty file says. The caller owns it.
func Initial() []byte { return slices.Clone(initialText) }
