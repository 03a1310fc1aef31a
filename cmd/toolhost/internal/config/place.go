package config

import (
	"encoding/hex"
	"slices"
)

// Digest tells the content of the file from others, byte for byte; empty: no file was
// read.
func (c *Config) Digest() string {
	if c.File == "" {
		return ""
	}
	return hex.EncodeToString(c.digest[:])
}

// Has reports whether the file has a setting, by the keys that lead to it.
func (c *Config) Has(keys ...string) bool {
	_, ok := c.places[pathOf(keys)]
	return ok
}

// Problem is what somebody else finds wrong with a setting, with the line on which it
// stands; where the file does not have it, on which stands what it would be in.
func (c *Config) Problem(message, hint string, keys ...string) Problem {
	at := place{1, 1}
	for n := len(keys); n > 0; n-- {
		if there, ok := c.places[pathOf(keys[:n])]; ok {
			at = there
			break
		}
	}
	f := &findings{src: c.src()}
	f.add(at, pathOf(keys), hint, "%s", message)
	return f.problems[0]
}

// Problems are an error; nil: there are none.
func (c *Config) Problems(all []Problem) error {
	if len(all) == 0 {
		return nil
	}
	out := &Error{File: c.File, Problems: slices.Clone(all)}
	slices.SortStableFunc(out.Problems, byPlace)
	if more := len(all) - maxProblems; more > 0 {
		out.Problems, out.Omitted = out.Problems[:maxProblems], more
	}
	return out
}

func byPlace(a, b Problem) int {
	if a.Line != b.Line {
		return a.Line - b.Line
	}
	return a.Column - b.Column
}

func pathOf(keys []string) string {
	path := ""
	for _, key := range keys {
		path = below(path, key)
	}
	return path
}
