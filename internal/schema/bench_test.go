package schema

import (
	"encoding/json"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
)

const benchSchema = `{
	"type": "object",
	"properties": {
		"path": {"type": "string", "description": "a file"},
		"limit": {"type": "integer", "minimum": 1},
		"recursive": {"type": "boolean"}
	},
	"required": ["path"],
	"additionalProperties": false
}`

func BenchmarkCheck(b *testing.B) {
	const valid = `{"path": "internal/schema/parse.go", "limit": 20, "recursive": true}`
	for _, c := range []struct {
		name, schema, args string
		fits               bool
	}{
		{"valid", benchSchema, valid, true},
		{"valid, v5 asked", `{"minProperties":1,"not":{"required":["x"]},` + benchSchema[1:], valid, true},
		{"invalid", benchSchema, `{"path": 7, "limit": 0, "force": true}`, false},
	} {
		b.Run(c.name, func(b *testing.B) {
			s := mustInput(b, c.schema)
			raw := []byte(c.args)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Check(b.Context(), raw); (err == nil) != c.fits {
					b.Fatal(err)
				}
			}
		})
	}
}

func BenchmarkParse(b *testing.B) {
	raw := []byte(`{"path": "internal/schema/parse.go", "limit": 20, "recursive": true}`)
	b.ReportAllocs()
	for b.Loop() {
		require.Must(parse(raw, maxValueLevels, nil))(b)
	}
}

func BenchmarkCompile(b *testing.B) {
	raw := json.RawMessage(benchSchema)
	b.ReportAllocs()
	for b.Loop() {
		require.Must(CompileInput(raw))(b)
	}
}
