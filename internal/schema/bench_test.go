package schema

import (
	"encoding/json"
	"testing"
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
	s, err := CompileInput(json.RawMessage(benchSchema))
	if err != nil {
		b.Fatal(err)
	}
	for _, c := range []struct{ name, args string }{
		{"valid", `{"path": "internal/schema/parse.go", "limit": 20, "recursive": true}`},
		{"invalid", `{"path": 7, "limit": 0, "force": true}`},
	} {
		b.Run(c.name, func(b *testing.B) {
			raw := []byte(c.args)
			b.ReportAllocs()
			for b.Loop() {
				if err := s.Check(raw); (err == nil) != (c.name == "valid") {
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
		if _, err := parse(raw, maxValueLevels); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCompile(b *testing.B) {
	raw := json.RawMessage(benchSchema)
	b.ReportAllocs()
	for b.Loop() {
		if _, err := CompileInput(raw); err != nil {
			b.Fatal(err)
		}
	}
}
