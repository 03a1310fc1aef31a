package config

import (
	"slices"
	"strconv"
	"strings"

	"github.com/toolhost/toolhost/internal/suggest"
)

// decoder fills a Config from a tree and notes all problems.
type decoder struct {
	*findings
	places map[string]place // of the settings that are there
}

// field reads one setting.
type field func(d *decoder, key string, n *node)

// fields are the keys of a mapping.
type fields map[string]field

// below is the path of a key in a mapping.
func below(parent, key string) string {
	if key == "" || strings.Trim(key, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") != "" {
		key = strconv.Quote(shown(key))
	}
	if parent == "" {
		return key
	}
	return parent + "." + key
}

// wrong notes that a value is of the wrong kind.
func (d *decoder) wrong(key string, n *node, want string) {
	if n.kind == null {
		d.add(n.at, key, "give "+want+", or remove the key", "it has no value")
		return
	}
	d.add(n.at, key, "give "+want, "expected %s, got %s", want, n.kind)
}

// decode reads a mapping with known keys. Nothing, as where all beneath the key is
// commented out, is an empty one.
func (fs fields) decode(d *decoder, key string, n *node) {
	if n.kind == null {
		return
	}
	if n.kind != mapping {
		d.wrong(key, n, "a mapping of settings")
		return
	}
	for _, e := range n.entries {
		at := below(key, e.key.text)
		f, known := fs[e.key.text]
		if !known {
			d.unknown(at, e.key, fs)
			continue
		}
		d.places[at] = e.value.at
		f(d, at, e.value)
	}
}

// otherNames are what people call settings elsewhere.
var otherNames = map[string]string{
	"args": "arguments", "env": "environment", "idle_timeout": "idle_time", "disabled": "disable", "rate_limit": "rate",
	"max_retries": "retries", "name": "rename", "directories": "plugin_dirs", "plugin_dir": "plugin_dirs", "capability": "permission",
	"capabilities": "grants", "workspace": "root", "cache": "cache_dir", "concurrency": "running", "level": "required",
}

// unknown notes a key that is not known, and what may have been meant.
func (d *decoder) unknown(at string, key *node, fs fields) {
	names := make([]string, 0, len(fs))
	for name := range fs {
		names = append(names, name)
	}
	slices.Sort(names)
	hint := "known here: " + strings.Join(names, ", ")
	near := suggest.Nearest(key.text, names, 1)
	if other := otherNames[strings.ToLower(key.text)]; len(near) == 0 && fs[other] != nil {
		near = []string{other}
	}
	if len(near) > 0 {
		hint = "did you mean `" + near[0] + "`?"
	}
	d.addKey(key, at, hint, "unknown key `%s`", shown(key.text))
}

// each reads a mapping from names to settings.
func each(check func(name string) string, f func(name string) field) field {
	return func(d *decoder, key string, n *node) {
		if n.kind == null {
			return
		}
		if n.kind != mapping {
			d.wrong(key, n, "a mapping of names")
			return
		}
		if len(n.entries) > maxItems {
			d.add(n.at, key, "is it the right file?", "there are %d names, more than %d", len(n.entries), maxItems)
			return
		}
		for _, e := range n.entries {
			at := below(key, e.key.text)
			if problem := check(e.key.text); problem != "" {
				d.addKey(e.key, at, problem, "this is no name that can be here")
				continue
			}
			d.places[at] = e.key.at
			f(e.key.text)(d, at, e.value)
		}
	}
}

// optional reads a setting that may be absent.
func optional[T any](to **T, f func(*T) field) field {
	return func(d *decoder, key string, n *node) {
		v := new(T)
		f(v)(d, key, n)
		*to = v
	}
}

// maxItems bounds a list.
const maxItems = 1000

// listOf reads a list, or nothing as an empty one.
func listOf[T any](to *[]T, f func(*T) field) field {
	return func(d *decoder, key string, n *node) {
		switch {
		case n.kind == null:
			*to = nil
			return
		case n.kind != list:
			d.wrong(key, n, "a list")
			return
		case len(n.items) > maxItems:
			d.add(n.at, key, "shorten it", "the list has %d items, more than %d", len(n.items), maxItems)
			return
		}
		var out []T // nil for an empty list too
		if len(n.items) > 0 {
			out = make([]T, len(n.items))
		}
		for i, item := range n.items {
			at := key + "[" + strconv.Itoa(i) + "]"
			d.places[at] = item.at
			f(&out[i])(d, at, item)
		}
		*to = out
	}
}

// someOf reads a list that is not empty, where an empty one could be taken for all or
// for none.
func someOf[T any](to *[]T, f func(*T) field) field {
	return func(d *decoder, key string, n *node) {
		if n.kind == null || n.kind == list && len(n.items) == 0 {
			d.add(n.at, key, `remove the key if it is to be all; say deny: ["*"] if it is to be none`, "the list is empty")
			return
		}
		listOf(to, f)(d, key, n)
	}
}
