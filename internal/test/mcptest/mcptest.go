// Package mcptest rebuilds the server that the conformance suite of MCP tests, as a plugin
// and an MCP server together. [Plugin] has the tools that a plugin can serve. [Server] has
// what only an MCP server has: prompts, resources, completion, and tools that ask the client
// for a completion or its roots. Names and answers are those that the suite's scenarios want.
package mcptest

import (
	"encoding/base64"
	"encoding/json"
)

// Everything is the name under which a host mounts [Server].
const Everything = "everything"

// What the tools and the prompts return.
const (
	embeddedText = "This is an embedded resource"
	plainText    = "text/plain"
	pngImage     = "image/png"
	wavAudio     = "audio/wav"
)

// The smallest files of their kinds: one red pixel, and a sound without samples.
var (
	pixel = decode("iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==")
	sound = decode("UklGRiYAAABXQVZFZm10IBAAAAABAAEAQB8AAAB9AAACABAAZGF0YQIAAAA=")
)

func decode(s string) []byte {
	data, err := base64.StdEncoding.DecodeString(s)
	if err != nil {
		panic(err)
	}
	return data
}

// The forms that tools ask for.
var (
	nameForm  = json.RawMessage(`{"type":"object","properties":{"name":{"type":"string"}},"required":["name"]}`)
	colorForm = json.RawMessage(`{"type":"object","properties":{"color":{"type":"string"}},"required":["color"]}`)
	okForm    = json.RawMessage(`{"type":"object","properties":{"ok":{"type":"boolean"}},"required":["ok"]}`)
	userForm  = json.RawMessage(`{"type":"object","properties":{"username":{"type":"string",` +
		`"description":"Your preferred username"}},"required":["username"]}`)
	contextForm = json.RawMessage(`{"type":"object","properties":{"context":{"type":"string"}},"required":["context"]}`)

	defaultsForm = json.RawMessage(`{"type":"object","properties":{
		"name":{"type":"string","description":"User name","default":"John Doe"},
		"age":{"type":"integer","description":"User age","default":30},
		"score":{"type":"number","description":"User score","default":95.5},
		"status":{"type":"string","description":"User status","enum":["active","inactive","pending"],"default":"active"},
		"verified":{"type":"boolean","description":"Verification status","default":true}}}`)

	choices = `[{"const":"value1","title":"First Option"},{"const":"value2","title":"Second Option"},` +
		`{"const":"value3","title":"Third Option"}]`
	enumsForm = json.RawMessage(`{"type":"object","properties":{
		"untitledSingle":{"type":"string","enum":["option1","option2","option3"]},
		"titledSingle":{"type":"string","oneOf":` + choices + `},
		"legacyEnum":{"type":"string","enum":["opt1","opt2","opt3"],"enumNames":["Option One","Option Two","Option Three"]},
		"untitledMulti":{"type":"array","minItems":1,"maxItems":3,
			"items":{"type":"string","enum":["option1","option2","option3"]}},
		"titledMulti":{"type":"array","minItems":1,"maxItems":3,"items":{"anyOf":` + choices + `}}}}`)
)

// schema2020 has keywords of JSON Schema 2020-12 that many implementations lose.
const schema2020 = `{
	"$schema": "https://json-schema.org/draft/2020-12/schema",
	"type": "object",
	"$defs": {"address": {"$anchor": "addressDef", "type": "object",
		"properties": {"street": {"type": "string"}, "city": {"type": "string"}}}},
	"properties": {
		"name": {"type": "string"},
		"address": {"$ref": "#/$defs/address"},
		"contactMethod": {"type": "string", "enum": ["phone", "email"]},
		"phone": {"type": "string"},
		"email": {"type": "string"}
	},
	"allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
	"if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
	"then": {"required": ["phone"]},
	"else": {"required": ["email"]},
	"additionalProperties": false
}`

// headerSchema has an argument that clients of the newest revision repeat in a header.
const headerSchema = `{"type": "object", "properties": {
	"region": {"type": "string", "description": "repeated in Mcp-Param-Region", "x-mcp-header": "Region"},
	"level": {"type": "integer", "description": "not repeated"}
}}`
