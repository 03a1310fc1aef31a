package config

import "slices"

// Has reports whether the file has a setting, by the keys that lead to it.
func (c *Config) Has(keys ...string) bool {
	_, ok := c.places[pathOf(keys)]
	return ok
}

// Problem returns a problem with a setting, at its line in the file. If the file does not
// have the setting, the line is that of the mapping it would be in.
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

// Problems returns an error with some problems; nil: there are none.
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
