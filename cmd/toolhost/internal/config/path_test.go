package config

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestPaths(t *testing.T) {
	// Not parallel: the environment is the process's.
	t.Setenv("HOME", "/home/me")
	t.Setenv("NAME", "some/where")
	t.Setenv("ABSOLUTE", "/else/where")
	t.Setenv("NESTED", "${NAME}~")
	for written, want := range map[string]string{
		"~": "/home/me", "~/a/../b": "/home/me/b", "./~": "/etc/toolhost/~", "a~": "/etc/toolhost/a~",
		"${NAME}": "/etc/toolhost/some/where", "${ABSOLUTE}/x": "/else/where/x", "/a/${NAME}-${NAME}": "/a/some/where-some/where",
		"~/${NAME}": "/home/me/some/where", "${NESTED}": "/etc/toolhost/${NAME}~", "/a/$/b": "/a/$/b",
	} {
		c := parseOK(t, "root: '"+written+"'\nplugin_dirs: ['"+written+"']\nplugins: {a: {environment: {X: {from_file: '"+written+"'}}}}")
		for _, got := range []string{c.Root, c.PluginDirs[0], c.Plugins["a"].Environment[0].FromFile} {
			assert.Equalf(t, got, want, "%s", written)
		}
	}
	t.Setenv("HOME", "")
	if _, err := Parse("t.yaml", []byte("root: ~/x")); err == nil {
		t.Error("without a home, ~ is expanded")
	}
}
