package config

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
)

// below returns the path of a key in a mapping.
func below(parent, key string) string {
	const plain = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-"
	if key == "" || strings.Trim(key, plain) != "" {
		key = strconv.Quote(shown(key))
	}
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// item returns the path of an item in a list.
func item(parent string, index int) string { return parent + "[" + strconv.Itoa(index) + "]" }

func pathOf(keys []string) string {
	path := ""
	for _, key := range keys {
		path = below(path, key)
	}
	return path
}

// nearest returns the place of a setting, or else of the mapping it would be in.
func nearest(places map[string]place, key string) place {
	at, ok := places[key]
	for !ok && key != "" {
		key = key[:max(0, strings.LastIndexByte(key, '.'))]
		at, ok = places[key]
	}
	return at
}

// Has reports whether the file has a setting, by the keys that lead to it.
func (c *Config) Has(keys ...string) bool {
	_, ok := c.places[pathOf(keys)]
	return ok
}

// Problem returns a problem with a setting, at its line in the file. If the file does not
// have the setting, the line is that of the mapping it would be in.
func (c *Config) Problem(message, hint string, keys ...string) Problem {
	key, f := pathOf(keys), &findings{src: c.src()}
	f.add(nearest(c.places, key), key, hint, "%s", message)
	return f.problems[0]
}

// Problems returns an error with some problems; nil: there are none.
func (c *Config) Problems(all []Problem) error {
	if len(all) == 0 {
		return nil
	}
	out := &Error{File: c.File, Problems: slices.SortedStableFunc(slices.Values(all), byPlace)}
	if more := len(all) - maxProblems; more > 0 {
		out.Problems, out.Omitted = out.Problems[:maxProblems], more
	}
	return out
}

func byPlace(a, b Problem) int {
	return cmp.Or(cmp.Compare(a.Line, b.Line), cmp.Compare(a.Column, b.Column))
}

// Place returns where the file has a setting, as FILE:LINE.
func (c *Config) Place(keys ...string) string {
	return c.File + ":" + strconv.Itoa(nearest(c.places, pathOf(keys)).line)
}
