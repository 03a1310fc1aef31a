package config

import (
	"bytes"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestLoad(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	path := filepath.Join(dir, "toolhost.yaml")
	if _, err := Load(path); !errors.Is(err, fs.ErrNotExist) || tool.CodeOf(err) != tool.CodeNotFound {
		t.Errorf("a missing file: %v", err)
	}
	require.NoError(t, os.WriteFile(path, []byte("root: work\nplugin_dirs: [../p]\n"), 0o600))
	c, err := Load(path)
	if err != nil || c.File != path || c.Root != filepath.Join(dir, "work") || c.PluginDirs[0] != filepath.Join(filepath.Dir(dir), "p") {
		t.Errorf("%+v, %v", c, err)
	}
	require.NoError(t, os.WriteFile(path, []byte("rot: x\n"), 0o600))
	var e *Error
	if _, err := Load(path); !errors.As(err, &e) || e.Problems[0].File != path {
		t.Errorf("%v", err)
	}
	require.NoError(t, os.Truncate(path, MaxSize+1))
	if _, err := Load(path); tool.CodeOf(err) != tool.CodeResourceExhausted {
		t.Errorf("a large file: %v", err)
	}
	if _, err := Load(dir); tool.CodeOf(err) != tool.CodeUnavailable {
		t.Errorf("a directory: %v", err)
	}
}

func TestInitial(t *testing.T) {
	t.Parallel()
	text := Initial()
	if !bytes.HasPrefix(text, []byte("# yaml-language-server: $schema="+SchemaURL+"\n")) {
		t.Error("editors do not find the schema")
	}
	c := parseOK(t, string(text))
	if d := Diff(c, Default()); d.any() {
		t.Errorf("it is not the default: %+v", d)
	}
	assert.NoError(t, bySchema(t, compiled(t), string(text)))
	// Settings are commented out with "#" alone, explanations with "# ".
	all := regexp.MustCompile(`(?m)^#( *[^ #])`).ReplaceAllStringFunc(string(text), func(s string) string {
		if strings.HasPrefix(s, "# ") && !strings.HasPrefix(s, "#  ") {
			return s
		}
		return s[1:]
	})
	set := parseOK(t, all)
	assert.NoError(t, bySchema(t, compiled(t), all))
	if d := Diff(c, set); len(d.Defaults) > 0 {
		t.Errorf("what it shows as defaults are none: %v", d.Defaults)
	}
	for name, l := range levels() {
		for _, key := range keys(l.Setting) {
			if !regexp.MustCompile(`(?m)^ *` + key + `:`).MatchString(all) {
				t.Errorf("%s.%s is not explained", name, key)
			}
		}
	}
	Initial()[0] = 'x'
	Schema()[0] = 'x'
	if Initial()[0] != '#' || Schema()[0] != '{' {
		t.Error("a caller changed it for all")
	}
}

func TestLoadRefuses(t *testing.T) {
	t.Parallel()
	dir := t.TempDir()
	fifo, open := filepath.Join(dir, "fifo"), filepath.Join(dir, "open")
	require.NoError(t, syscall.Mkfifo(fifo, 0o600))
	require.NoError(t, os.WriteFile(open, nil, 0o600))
	require.NoError(t, os.Chmod(open, 0o622))
	for path, want := range map[string]tool.Code{fifo: tool.CodeUnavailable, "/dev/zero": tool.CodeUnavailable, open: tool.CodePermissionDenied} {
		if c, err := Load(path); c != nil || tool.CodeOf(err) != want {
			t.Errorf("%s: %v, %v, want %s", path, c, err, want)
		}
	}
}
