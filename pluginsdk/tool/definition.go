package tool

import (
	"encoding/json"
	"fmt"
	"math"
	"slices"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// Schema is a JSON Schema 2020-12 as JSON text.
type Schema = json.RawMessage

// Definition describes a tool. It is the only description there is: what a
// plugin sends, what the registry holds and what a model is shown are all this
// type. What a plugin says of itself here is a claim; the host's operator has
// the last word.
type Definition struct {
	// Name is the tool's canonical name: [A-Za-z0-9_.-]{1,128}. Required.
	Name string `json:"name"`
	// Title is for people; empty: the name. Neither it, nor Description, nor any text
	// in the schemas may hold characters that a person does not see, or that change the
	// order of others: control characters other than newlines and tabs, bidirectional
	// marks and overrides, zero-width spaces, tags. They could hide from whoever approves
	// a call what a model reads.
	Title string `json:"title,omitempty"`
	// Description tells a model what the tool does and when to use it. Required.
	Description string `json:"description"`
	// InputSchema describes the arguments; its root has "type": "object".
	// Empty: the tool takes no arguments.
	InputSchema Schema `json:"input_schema,omitempty"`
	// OutputSchema describes [Result.Structured]; empty: nothing is promised.
	OutputSchema Schema `json:"output_schema,omitempty"`
	// Safety is how much harm the tool can do. Unset counts as dangerous.
	Safety Safety `json:"safety,omitempty"`
	// Categories are for finding tools: at most 64, each [A-Za-z0-9_.:-]{1,64}.
	Categories []string `json:"categories,omitempty"`
	// Permission is the capability that a caller must hold; empty: none.
	Permission Capability `json:"permission,omitempty"`
	// Idempotent says that a call may be repeated with no further effect.
	Idempotent bool `json:"idempotent,omitempty"`
	// MaxRetries is how often a failed call may be repeated, 0 to 10.
	MaxRetries int `json:"max_retries,omitempty"`
	// Timeout bounds one attempt; 0: the host's default.
	Timeout Duration `json:"timeout,omitempty"`
	// RateLimit bounds the calls of one caller; nil: no limit of the tool's own.
	RateLimit *RateLimit `json:"rate_limit,omitempty"`
	// Sensitive are names of arguments that logs and audit redact: at most 256, of at
	// most 256 bytes each.
	Sensitive []string `json:"sensitive,omitempty"`
}

// RateLimit allows Calls calls in each Period.
type RateLimit struct {
	Calls  int      `json:"calls"`
	Period Duration `json:"period"`
}

// Limits of a definition. They keep a plugin from filling the host's memory
// and a model's context, and are far above what an honest tool needs.
const (
	MaxNameLength        = 128
	maxTitleLength       = 1 << 10  // bytes
	maxDescriptionLength = 64 << 10 // bytes
	maxCategories        = 64
	maxSensitive         = 256
	maxSensitiveLength   = 256 // bytes of each name
	MaxRetryLimit        = 10

	maxCategoryLength = 64
)

// Clone is a copy that shares nothing with d.
func (d Definition) Clone() Definition {
	d.InputSchema = slices.Clone(d.InputSchema)
	d.OutputSchema = slices.Clone(d.OutputSchema)
	d.Categories = slices.Clone(d.Categories)
	d.Sensitive = slices.Clone(d.Sensitive)
	if d.RateLimit != nil {
		limit := *d.RateLimit
		d.RateLimit = &limit
	}
	return d
}

// Check reports the first thing that is wrong with d, its schemas aside: they
// are compiled where tools are registered.
//
// # Errors
//
// [CodeInvalidDefinition]; for an empty name it is also [ErrEmptyName].
func (d Definition) Check() error {
	bad := func(hint, format string, args ...any) error {
		return &Error{
			Code: CodeInvalidDefinition, Tool: d.Name, Stage: StageRegister,
			Message: fmt.Sprintf("tool %.*q: ", MaxNameLength, d.Name) + fmt.Sprintf(format, args...), Hint: hint,
		}
	}
	switch {
	case d.Name == "":
		return &Error{
			Code: CodeInvalidDefinition, Stage: StageRegister, Message: ErrEmptyName.Error(),
			Hint: "give the definition a name", Err: ErrEmptyName,
		}
	case !spells(d.Name, MaxNameLength, "_.-"):
		return bad("use 1 to 128 letters, digits, _, . and -", "the name has characters or a length that names may not have")
	case d.Description == "":
		return bad("say what the tool does: models choose by it", "the description is missing")
	case len(d.Description) > maxDescriptionLength:
		return bad("shorten it", "the description has %d bytes, more than %d", len(d.Description), maxDescriptionLength)
	case len(d.Title) > maxTitleLength:
		return bad("shorten it", "the title has %d bytes, more than %d", len(d.Title), maxTitleLength)
	case !utf8.ValidString(d.Title) || !utf8.ValidString(d.Description):
		return bad("write it as UTF-8", "the title or the description is not valid UTF-8")
	case hidden(d.Title) != 0:
		return bad(plainText, "the title has a hidden character, %U", hidden(d.Title))
	case hidden(d.Description) != 0:
		return bad(plainText, "the description has a hidden character, %U", hidden(d.Description))
	case !d.Safety.Valid():
		return bad("use safe, cautious or dangerous", "unknown safety level %d", int(d.Safety))
	case d.Permission != "" && !d.Permission.Valid():
		return bad("use word:word, such as fs:read", "malformed permission %.100q", string(d.Permission))
	case d.MaxRetries < 0 || d.MaxRetries > MaxRetryLimit:
		return bad(fmt.Sprintf("use 0 to %d", MaxRetryLimit), "max_retries is %d", d.MaxRetries)
	case d.Timeout < 0:
		return bad("use 0 for the host's default", "the timeout is negative")
	case d.RateLimit != nil && (d.RateLimit.Calls < 1 || d.RateLimit.Calls > math.MaxInt32 || d.RateLimit.Period <= 0):
		return bad("allow at least one call in a period above zero", "the rate limit is malformed")
	case len(d.Categories) > maxCategories:
		return bad("use fewer", "%d categories, more than %d", len(d.Categories), maxCategories)
	case len(d.Sensitive) > maxSensitive:
		return bad("use fewer; a name counts wherever in the arguments it is", "%d sensitive names, more than %d", len(d.Sensitive), maxSensitive)
	}
	for _, name := range d.Sensitive {
		if name == "" || len(name) > maxSensitiveLength {
			return bad("use 1 to 256 bytes", "the sensitive name %.100q has %d bytes", name, len(name))
		}
	}
	for _, c := range d.Categories {
		if !spells(c, maxCategoryLength, "_.:-") {
			return bad("use 1 to 64 letters, digits, _, ., : and -", "malformed category %.100q", c)
		}
	}
	return nil
}

const plainText = "use plain text, with newlines and tabs at most"

// hidden is the first character of a text that is read and not seen; 0: there is none.
func hidden(s string) rune {
	r, _ := sanitize.Hidden(s)
	return r
}
