package tool

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"
)

// Extra is what a block of content says besides its content, for MCP clients: a JSON object of
// those members of the protocol's blocks that have no field here. Clients receive the members
// as they are. Models, which read [Result.Text], do not see them. Empty: nothing.
//
//   - annotations: whom the block is for and how much it matters, see [Annotations]
//   - _meta: an object, for the programs at both ends
//   - title, size, icons: of a [ResourceLink]
//   - resource: of a [ResourceContent], {"_meta": {...}}, for the resource in the block
//
// Other members are ignored.
type Extra string

// Annotations are the hints of a block of content, as the Model Context Protocol defines them
// (specification 2025-06-18, server/resources).
type Annotations struct {
	// Audience is whom the block is for: "user", "assistant" or both. Empty: it is not said.
	Audience []string `json:"audience,omitempty"`
	// Priority is how much the block matters, from 0, optional, to 1, required. Nil: it is
	// not said.
	Priority *float64 `json:"priority,omitempty"`
	// LastModified is a time as in ISO 8601. Empty: it is not said.
	LastModified string `json:"lastModified,omitempty"`
}

// Extra returns the annotations as the Extra of a block.
func (a Annotations) Extra() Extra {
	b, err := json.Marshal(struct {
		Annotations Annotations `json:"annotations"`
	}{a})
	if err != nil { // a priority that is not a number
		return ""
	}
	return Extra(b)
}

// MarshalJSON implements [json.Marshaler].
func (e Extra) MarshalJSON() ([]byte, error) { return []byte(e), nil }

// UnmarshalJSON implements [json.Unmarshaler].
func (e *Extra) UnmarshalJSON(b []byte) error {
	if *e = Extra(b); string(b) == "null" {
		*e = ""
	}
	return nil
}

// Check returns an error if e is not an object, or one of its members is not of its type. What
// icons must be is said at [Definition].
func (e Extra) Check() error {
	if e == "" {
		return nil
	}
	if err := CheckMeta(json.RawMessage(e)); err != nil {
		return err
	}
	var in struct {
		Annotations json.RawMessage `json:"annotations"`
		Meta        json.RawMessage `json:"_meta"`
		Title       string          `json:"title"`
		Size        *float64        `json:"size"`
		Icons       json.RawMessage `json:"icons"`
		Resource    struct {
			Meta json.RawMessage `json:"_meta"`
		} `json:"resource"`
	}
	if err := json.Unmarshal([]byte(e), &in); err != nil {
		return err
	}
	for name, object := range map[string]json.RawMessage{
		"annotations": in.Annotations, "_meta": in.Meta, "the _meta of the resource": in.Resource.Meta,
	} {
		if err := CheckMeta(object); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return CheckIcons(in.Icons)
}

// extraOf returns what a block says besides its content.
func extraOf(c Content) Extra {
	switch c := c.(type) {
	case TextContent:
		return c.Extra
	case ImageContent:
		return c.Extra
	case AudioContent:
		return c.Extra
	case ResourceContent:
		return c.Extra
	case ResourceLink:
		return c.Extra
	}
	return ""
}

// Check returns an error if Meta is not an object, or a block's Extra is wrong.
func (r Result) Check() error {
	if err := CheckMeta(r.Meta); err != nil {
		return fmt.Errorf("its _meta: %w", err)
	}
	for i, c := range r.Content {
		if err := extraOf(c).Check(); err != nil {
			return fmt.Errorf("what block %d says besides its content: %w", i+1, err)
		}
	}
	return nil
}

// maxLevels bounds how deep objects and arrays of a "_meta" nest.
const maxLevels = 64

// CheckMeta returns an error if a "_meta" that is not empty is not a JSON object in UTF-8 of
// at most 64 levels.
func CheckMeta(meta json.RawMessage) error {
	switch {
	case len(meta) == 0:
		return nil
	case !json.Valid(meta) || !utf8.Valid(meta):
		return errors.New("it is not JSON in UTF-8")
	case bytes.TrimLeft(meta, " \t\r\n")[0] != '{':
		return errors.New("it is not an object")
	case levels(meta) > maxLevels:
		return fmt.Errorf("it has %d levels, more than %d", levels(meta), maxLevels)
	}
	return nil
}

// levels returns how deep the objects and arrays of valid JSON nest.
func levels(text []byte) (most int) {
	level, quoted := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case quoted && c == '\\':
			i++
		case c == '"':
			quoted = !quoted
		case quoted:
		case c == '{', c == '[':
			level++
			most = max(most, level)
		case c == '}', c == ']':
			level--
		}
	}
	return most
}

// Limits of the icons of a tool or link.
const (
	maxIcons      = 16
	maxIconsBytes = 64 << 10 // of all of them
)

// CheckIcons returns an error if icons that are not empty are not such as [Definition.Icons]
// must be.
func CheckIcons(icons json.RawMessage) error {
	if len(icons) == 0 {
		return nil
	}
	if len(icons) > maxIconsBytes {
		return fmt.Errorf("the icons have %d bytes, more than %d", len(icons), maxIconsBytes)
	}
	var all []struct {
		Source   string   `json:"src"`
		MIMEType string   `json:"mimeType"`
		Sizes    []string `json:"sizes"`
		Theme    string   `json:"theme"`
	}
	if err := json.Unmarshal(icons, &all); err != nil || !utf8.Valid(icons) {
		return errors.New("the icons are not a list of objects with a src")
	}
	if len(all) > maxIcons {
		return fmt.Errorf("%d icons, more than %d", len(all), maxIcons)
	}
	for _, icon := range all {
		source := strings.ToLower(icon.Source)
		if !strings.HasPrefix(source, "https://") && !strings.HasPrefix(source, "data:image/") {
			return fmt.Errorf("the icon %.100q is neither https: nor data:image/", icon.Source)
		}
		if c := hidden(icon.Source + icon.MIMEType + icon.Theme + strings.Join(icon.Sizes, "")); c >= 0 {
			return fmt.Errorf("an icon has a hidden character, %U", c)
		}
	}
	return nil
}
