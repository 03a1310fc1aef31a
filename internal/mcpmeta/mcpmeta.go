// Package mcpmeta checks what tools and results say to MCP clients besides their content: "_meta"
// objects, icons and the extra members of content blocks.
package mcpmeta

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode/utf8"

	"github.com/toolhost/toolhost/internal/sanitize"
)

// maxLevels bounds how deep objects and arrays of a "_meta" nest.
const maxLevels = 64

// Check returns an error if a "_meta" that is not empty is not a JSON object in UTF-8 of
// at most 64 levels.
func Check(meta json.RawMessage) error {
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

// CheckIcons returns an error if icons that are not empty are not such as those of a tool.Definition
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
		if c, found := sanitize.Hidden(icon.Source + icon.MIMEType + icon.Theme + strings.Join(icon.Sizes, "")); found {
			return fmt.Errorf("an icon has a hidden character, %U", c)
		}
	}
	return nil
}

// CheckExtra returns an error if the Extra of a block is not an object, or one of its members is not of its
// type.
func CheckExtra(e string) error {
	if e == "" {
		return nil
	}
	if err := Check(json.RawMessage(e)); err != nil {
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
		if err := Check(object); err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
	}
	return CheckIcons(in.Icons)
}
