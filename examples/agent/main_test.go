package main

import (
	"bytes"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
)

// plugins is a directory with the plugin fs, built from the module that this one
// is an example of.
func plugins(t *testing.T) string {
	t.Helper()
	dir := t.TempDir()
	if err := os.Chmod(dir, 0o700); err != nil { // others may not write, whatever the umask
		t.Fatal(err)
	}
	binaries.Install(t, filepath.Join(binaries.Build(t, "plugins/fs"), "fs"), filepath.Join(dir, "fs"))
	return dir
}

type printed struct {
	status         int
	stdout, stderr string
}

func command(stdin string, args ...string) printed {
	var stdout, stderr bytes.Buffer
	status := start(args, strings.NewReader(stdin), &stdout, &stderr)
	return printed{status, stdout.String(), stderr.String()}
}

// The whole way: command line, client, host, a plugin's process, and back.
func TestCommand(t *testing.T) {
	t.Setenv("OPENAI_API_KEY", "from the environment")
	root := t.TempDir()
	if err := os.WriteFile(filepath.Join(root, "note.txt"), []byte("buy milk"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := newStub(t,
		fails(http.StatusTooManyRequests, "not now"),
		wants("", call("a", "fs_read", `{"path":"note.txt"}`), call("b", "fs_read", `{"path":"missing.txt"}`)),
		wants("", call("c", "fs_write", `{"path":"done.txt","content":"milk"}`)),
		says("There is \x1b milk."),
	)
	args := []string{"-model", "stub", "-base-url", s.url, "-root", root, "-plugin-dir", plugins(t), "-yes", "-grant", "fs:read"}
	got := command("unused", append(args, "-grant", "fs:write", "What", "to buy?")...)
	if got.status != 0 || got.stdout != "There is \ufffd milk.\n" || !strings.Contains(got.stderr, "fs_read done") || !strings.Contains(got.stderr, "fs_read failed: ") {
		t.Errorf("%+v", got)
	}
	asked := s.requests(t, 4)[1:]
	if first := asked[0]; first.header.Get("Authorization") != "Bearer from the environment" || first.last().Content != "What to buy?" {
		t.Errorf("key %q, prompt %+v", first.header.Get("Authorization"), first.last())
	}
	if names := asked[0].names(); !slices.Equal(names, []string{"fs_delete", "fs_edit", "fs_list", "fs_mkdir", "fs_move", "fs_read", "fs_search", "fs_stat", "fs_write"}) {
		t.Errorf("offered %q", names)
	}
	if m := asked[1].Messages; m[2].Content != "buy milk" || !strings.Contains(m[3].Content, "missing.txt") {
		t.Errorf("told %+v", m[2:])
	}
	if text, err := os.ReadFile(filepath.Join(root, "done.txt")); err != nil || string(text) != "milk" {
		t.Errorf("wrote %q, %v: %+v", text, err, asked[2].last())
	}
}

func TestCommandEndsEarly(t *testing.T) {
	t.Parallel()
	s := newStub(t, wants("Looking.", call("a", "nothing", `{}`)))
	got := command(" from standard input\n", "-model", "stub", "-base-url", s.url, "-max-iterations", "1")
	if got.status != 1 || got.stdout != "Looking.\n" || !strings.Contains(got.stderr, "stopped after 1 turns") || !strings.Contains(got.stderr, "no tools") {
		t.Errorf("%+v", got)
	}
	if prompt := s.requests(t, 1)[0].last().Content; prompt != "from standard input" {
		t.Errorf("prompt %q", prompt)
	}
}

// What cannot be loaded is told, and the rest works.
func TestCommandWithoutPlugins(t *testing.T) {
	t.Parallel()
	s := newStub(t, says("Hello."))
	missing := filepath.Join(t.TempDir(), "missing")
	got := command("", "-model", "stub", "-base-url", s.url, "-plugin-dir", missing, "Hello?")
	if got.status != 0 || got.stdout != "Hello.\n" || !strings.Contains(got.stderr, missing) {
		t.Errorf("%+v", got)
	}
}

func TestCommandFails(t *testing.T) {
	t.Parallel()
	s := newStub(t, fails(http.StatusUnauthorized, "bad key\x1b[2J"))
	for name, c := range map[string]struct {
		args   []string
		status int
		stderr string
	}{
		"help":              {[]string{"-h"}, 0, "Usage: agent"},
		"no model":          {[]string{"Hello?"}, 2, "-model NAME"},
		"no prompt":         {[]string{"-model", "stub"}, 2, "a prompt"},
		"unknown flag":      {[]string{"-modell", "stub"}, 2, "-modell"},
		"a bad grant":       {[]string{"-model", "stub", "-grant", "FS READ", "Hello?"}, 2, "use word:word"},
		"below zero":        {[]string{"-model", "stub", "-max-iterations", "-1", "Hello?"}, 2, "max-iterations"},
		"no such workspace": {[]string{"-model", "stub", "-root", filepath.Join(t.TempDir(), "missing"), "Hello?"}, 1, "is not a directory"},
		"a refused key":     {[]string{"-model", "stub", "-base-url", s.url, "Hello?"}, 1, "bad key\ufffd[2J (check OPENAI_API_KEY)"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := command("", c.args...)
			if got.status != c.status || got.stdout != "" || !strings.Contains(got.stderr, c.stderr) {
				t.Errorf("%+v, want %d and %q", got, c.status, c.stderr)
			}
		})
	}
}

func TestCommandOnBrokenStreams(t *testing.T) {
	t.Parallel()
	var stderr bytes.Buffer
	if status := start([]string{"-model", "stub"}, broken{}, io.Discard, &stderr); status != 2 || !strings.Contains(stderr.String(), "reading the prompt: ") {
		t.Errorf("standard input: status %d, %s", status, &stderr)
	}
	s := newStub(t, says("Hello."))
	stderr.Reset()
	if status := start([]string{"-model", "stub", "-base-url", s.url, "Hello?"}, nil, broken{}, &stderr); status != 1 || !strings.Contains(stderr.String(), io.ErrClosedPipe.Error()) {
		t.Errorf("standard output: status %d, %s", status, &stderr)
	}
}

type broken struct{}

func (broken) Read([]byte) (int, error)  { return 0, io.ErrClosedPipe }
func (broken) Write([]byte) (int, error) { return 0, io.ErrClosedPipe }
