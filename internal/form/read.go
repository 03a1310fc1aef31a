package form

import (
	"encoding/json"
	"errors"
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/lazy"
)

var (
	integer = lazy.Regexp(`^-?(0|[1-9][0-9]*)$`)
	number  = lazy.Regexp(`^-?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][+-]?[0-9]+)?$`)
)

// Read returns the value that a person typed: a choice by its value, its title or its place
// from 1, choices of a list with commas between them, yes or no for a boolean.
//
// # Errors
//
// One that tells the person what to type.
func (f Field) Read(text string) (json.RawMessage, error) {
	text = strings.TrimSpace(text)
	switch {
	case f.List:
		chosen := []string{}
		for part := range strings.SplitSeq(text, ",") {
			v, err := f.choose(strings.TrimSpace(part))
			if err != nil {
				return nil, err
			}
			chosen = append(chosen, v)
		}
		return json.Marshal(chosen)
	case f.Choices != nil:
		v, err := f.choose(text)
		if err != nil {
			return nil, err
		}
		return json.Marshal(v)
	case f.Type == "boolean":
		switch strings.ToLower(text) {
		case "y", "yes", "true":
			return json.RawMessage("true"), nil
		case "n", "no", "false":
			return json.RawMessage("false"), nil
		}
		return nil, errors.New("type yes or no")
	case f.Type == "integer" && !integer().MatchString(text):
		return nil, errors.New("type a whole number")
	case f.Type == "number" && !number().MatchString(text):
		return nil, errors.New("type a number")
	case f.Type == "string":
		return json.Marshal(text)
	}
	return json.RawMessage(text), nil
}

func (f Field) choose(text string) (string, error) {
	for _, same := range []func(Choice) bool{
		func(c Choice) bool { return c.Value == text },
		func(c Choice) bool { return c.Title != "" && strings.EqualFold(c.Title, text) },
		func(c Choice) bool { return strings.EqualFold(c.Value, text) },
	} {
		if i := slices.IndexFunc(f.Choices, same); i >= 0 {
			return f.Choices[i].Value, nil
		}
	}
	if i, err := strconv.Atoi(text); err == nil && i >= 1 && i <= len(f.Choices) {
		return f.Choices[i-1].Value, nil
	}
	return "", errors.New("type one of the choices, or its number")
}

// DefaultText returns the default as a person would type it; empty: there is none.
func (f Field) DefaultText() string {
	var text string
	var list []string
	switch {
	case json.Unmarshal(f.Default, &text) == nil:
		return text
	case json.Unmarshal(f.Default, &list) == nil:
		return strings.Join(list, ", ")
	case string(f.Default) == "true":
		return "yes"
	case string(f.Default) == "false":
		return "no"
	}
	return string(f.Default)
}
