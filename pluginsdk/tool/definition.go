package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/internal/mcpmeta"
	"github.com/toolhost/toolhost/internal/sanitize"
)

// Schema is a JSON Schema, draft 2020-12, as JSON text.
type Schema = json.RawMessage

// Definition describes a tool. Plugins send definitions, the host stores them and models
// see them. A plugin's definition is a claim about itself: the configuration of the
// host's operator takes precedence.
type Definition struct {
	// Name is the name of the tool: [A-Za-z0-9_.-]{1,128}. Required.
	Name string `json:"name"`
	// Alias is the name for models, which take fewer characters than names have
	// (^[a-zA-Z_][a-zA-Z0-9_-]{0,63}$). The host gives each tool one, which no other has and which
	// stays as long as the tool does; calls by it find the tool. What a provider sets is
	// ignored.
	Alias string `json:"alias,omitempty"`
	// Title is the name shown to people, at most 1 KiB. Empty: Name.
	//
	// Title, Description and the text in the schemas must not contain characters that
	// are invisible or that reorder others: control characters except newline and tab,
	// bidirectional marks and overrides, zero-width spaces, tags. Such characters could
	// hide text that a model reads from the person who approves a call.
	Title string `json:"title,omitempty"`
	// Description tells a model what the tool does and when to use it, in at most
	// 64 KiB. Required.
	Description string `json:"description"`
	// InputSchema describes the arguments. Its root has "type": "object".
	// Empty: the tool takes no arguments.
	InputSchema Schema `json:"input_schema,omitempty"`
	// OutputSchema describes [Result.Structured]. Empty: no guarantee.
	OutputSchema Schema `json:"output_schema,omitempty"`
	// Safety is how much harm the tool can do. Default: [Unset], which counts as
	// [Dangerous].
	Safety Safety `json:"safety,omitempty"`
	// Categories help to find the tool: at most 64, each [A-Za-z0-9_.:-]{1,64}.
	Categories []string `json:"categories,omitempty"`
	// Permission is the capability that a caller must hold. Empty: none.
	Permission Capability `json:"permission,omitempty"`
	// Idempotent declares that repeating a call has no further effect.
	Idempotent bool `json:"idempotent,omitempty"`
	// MaxRetries is how often the host may repeat a failed call, 0 to 10.
	MaxRetries int `json:"max_retries,omitempty"`
	// Timeout is the time limit of one attempt. Zero: the host's default.
	Timeout Duration `json:"timeout,omitempty"`
	// RateLimit limits the calls of each caller. Nil: no limit for this tool.
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	// Sensitive names arguments whose values the logs and the audit log redact, wherever
	// in the arguments a name occurs: at most 256 names of 1 to 256 bytes.
	Sensitive []string `json:"sensitive,omitempty"`
	// Icons are shown to people by MCP clients: a JSON array of objects with "src", an https:
	// or data:image/ URI, and optionally "mimeType", "sizes" and "theme", as in the Model
	// Context Protocol (specification 2025-11-25, basic). At most 16, and 64 KiB.
	Icons json.RawMessage `json:"icons,omitempty"`
	// Meta is the "_meta" of the tool, for MCP clients: a JSON object of at most 64 KiB and
	// 64 levels, which they receive as it is. Keys that the protocol reserves, such as
	// io.modelcontextprotocol/..., are not passed on.
	Meta json.RawMessage `json:"meta,omitempty"`
}

// RateLimit allows Calls calls in each Period. Both are above zero.
type RateLimit struct {
	Calls  int      `json:"calls"`
	Period Duration `json:"period"`
}

// Limits of a definition. They keep a plugin from filling the host's memory and a
// model's context, and are far above the needs of an honest tool.
const (
	maxRetries           = 10       // the highest [Definition.MaxRetries]
	maxTitleLength       = 1 << 10  // bytes
	maxDescriptionLength = 64 << 10 // bytes
	maxCategories        = 64
	maxCategoryLength    = 64 // bytes
	maxSensitive         = 256
	maxSensitiveLength   = 256      // bytes
	maxMeta              = 64 << 10 // bytes
)

// Defined returns d, also of what embeds it: exports take either.
func (d Definition) Defined() Definition { return d }

// Clone returns a copy that shares no memory with d.
func (d Definition) Clone() Definition {
	d.InputSchema = slices.Clone(d.InputSchema)
	d.OutputSchema = slices.Clone(d.OutputSchema)
	d.Categories = slices.Clone(d.Categories)
	d.Sensitive = slices.Clone(d.Sensitive)
	d.Icons, d.Meta = slices.Clone(d.Icons), slices.Clone(d.Meta)
	if d.RateLimit != nil {
		d.RateLimit = new(*d.RateLimit)
	}
	return d
}

// Check returns an error for the first mistake in d. It does not check the schemas, which
// are compiled when the tool is registered.
//
// # Errors
//
// [CodeInvalidDefinition]. For an empty name it wraps [ErrEmptyName].
func (d Definition) Check() error {
	bad := func(hint, format string, args ...any) error {
		return Errorf(CodeInvalidDefinition, "tool %.*q: %s", ident.MaxTool, d.Name, fmt.Sprintf(format, args...)).
			Of(d.Name, "").At(callstage.Register).Try(hint)
	}
	switch {
	case d.Name == "":
		return Errorf(CodeInvalidDefinition, "%w", ErrEmptyName).At(callstage.Register).Try("give the definition a name")
	case !ident.Spells(d.Name, ident.MaxTool, "_.-"):
		return bad("use 1 to 128 letters, digits, _, . and -", "the name has characters or a length that names may not have")
	case strings.TrimSpace(d.Description) == "":
		return bad("say what the tool does: models choose by it", "the description is missing")
	case len(d.Description) > maxDescriptionLength:
		return bad("shorten it", "the description has %d bytes, more than %d", len(d.Description), maxDescriptionLength)
	case len(d.Title) > maxTitleLength:
		return bad("shorten it", "the title has %d bytes, more than %d", len(d.Title), maxTitleLength)
	case !utf8.ValidString(d.Title) || !utf8.ValidString(d.Description):
		return bad("write it as UTF-8", "the title or the description is not valid UTF-8")
	case hidden(d.Title) >= 0:
		return bad(plainText, "the title has a hidden character, %U", hidden(d.Title))
	case hidden(d.Description) >= 0:
		return bad(plainText, "the description has a hidden character, %U", hidden(d.Description))
	case !d.Safety.valid():
		return bad("use safe, cautious or dangerous", "unknown safety level %d", int(d.Safety))
	case d.Permission != "" && !d.Permission.Valid():
		return bad("use word:word, such as fs:read", "malformed permission %.100q", string(d.Permission))
	case d.MaxRetries < 0 || d.MaxRetries > maxRetries:
		return bad(fmt.Sprintf("use 0 to %d", maxRetries), "max_retries is %d", d.MaxRetries)
	case d.Timeout < 0:
		return bad("use 0 for the host's default", "the timeout is negative")
	case d.RateLimit != nil && (d.RateLimit.Calls < 1 || d.RateLimit.Calls > math.MaxInt32 || d.RateLimit.Period <= 0):
		return bad("allow at least one call in a period above zero", "the rate limit is malformed")
	case len(d.Categories) > maxCategories:
		return bad("use fewer", "%d categories, more than %d", len(d.Categories), maxCategories)
	case len(d.Sensitive) > maxSensitive:
		return bad("use fewer; a name counts wherever in the arguments it occurs",
			"%d sensitive names, more than %d", len(d.Sensitive), maxSensitive)
	}
	for _, name := range d.Sensitive {
		if name == "" || len(name) > maxSensitiveLength {
			return bad("use 1 to 256 bytes", "the sensitive name %.100q has %d bytes", name, len(name))
		}
	}
	for _, c := range d.Categories {
		if !ident.Spells(c, maxCategoryLength, "_.:-") {
			return bad("use 1 to 64 letters, digits, _, ., : and -", "malformed category %.100q", c)
		}
	}
	if err := mcpmeta.CheckIcons(d.Icons); err != nil {
		return bad("use at most 16 icons from https: or data:image/, and 64 KiB", "%v", err)
	}
	if err := mcpmeta.Check(d.Meta); err != nil {
		return bad("make it a JSON object", "the _meta: %v", err)
	}
	if len(d.Meta) > maxMeta {
		return bad("shorten it", "the _meta has %d bytes, more than %d", len(d.Meta), maxMeta)
	}
	return nil
}

const plainText = "use plain text, with newlines and tabs at most"

// hidden returns the first invisible character of s, which may be 0; -1: there is none.
func hidden(s string) rune {
	r, found := sanitize.Hidden(s)
	if !found {
		return -1
	}
	return r
}
