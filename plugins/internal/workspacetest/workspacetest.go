// Package workspacetest runs the tools of a plugin on a workspace, for tests.
// Start with [New].
package workspacetest

import (
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tools is a set of tools and the workspace that they work in.
type Tools struct {
	*tool.Set
	Root    string
	Session string // of the calls
}

// Args are the arguments of a call.
type Args map[string]any

// New returns tools for a workspace, called in a session named for the test.
func New(t testing.TB, root string, tools ...tool.Tool) Tools {
	t.Helper()
	set, err := tool.NewSet(tools...)
	if err != nil {
		t.Fatal(err)
	}
	return Tools{set, root, t.Name()}
}

// As returns the tools for calls in another session.
func (s Tools) As(session string) Tools {
	s.Session = session
	return s
}

// NewCall returns a call in the session.
func (s Tools) NewCall(t testing.TB, name string, args Args) tool.Call {
	t.Helper()
	b, err := json.Marshal(args)
	if err != nil {
		t.Fatal(err)
	}
	return tool.Call{Name: name, Arguments: b, Session: s.Session}
}

// Call calls a tool as a host does.
func (s Tools) Call(t testing.TB, name string, args Args) (tool.Result, error) {
	t.Helper()
	return s.Execute(t.Context(), s.NewCall(t, name, args))
}

// Must calls a tool and ends the test if the call fails.
func (s Tools) Must(t testing.TB, name string, args Args) tool.Result {
	t.Helper()
	r, err := s.Call(t, name, args)
	if err != nil || r.IsError {
		t.Fatalf("%s %v: %v, %v", name, args, r.Text(), err)
	}
	return r
}

// WantText checks the text of a call's result.
func (s Tools) WantText(t testing.TB, name string, args Args, want string) {
	t.Helper()
	r, err := s.Call(t, name, args)
	if err != nil || r.IsError || r.Text() != want {
		t.Errorf("%s %v = %q, %v; want %q", name, args, r.Text(), err, want)
	}
}

// WantFailure checks that a call is the tool's own failure, with a text.
func (s Tools) WantFailure(t testing.TB, name string, args Args, text string) {
	t.Helper()
	r, err := s.Call(t, name, args)
	prefix := "tool " + name + " execution failed: "
	if err != nil || !r.IsError || !strings.HasPrefix(r.Text(), prefix) || !strings.Contains(r.Text(), text) {
		t.Errorf("%s %v = %q, %v; want a failure with %q", name, args, r.Text(), err, text)
	}
}

// WantEscape checks that run refuses a call whose path leads out of the workspace.
func (s Tools) WantEscape(t testing.TB, run tool.Handler, name, path string, args Args) {
	t.Helper()
	r, err := run(t.Context(), s.NewCall(t, name, args))
	var e *tool.Error
	want := "tool " + name + " execution failed: path escapes the workspace: " + path
	if !errors.As(err, &e) || e.Code != tool.CodePermissionDenied || e.Hint == "" || e.Message != want {
		t.Errorf("%s %v = %v, %v; want %q", name, args, r, err, want)
	}
}

// Decode calls a tool that must succeed and returns its structured result.
func Decode[T any](t testing.TB, s Tools, name string, args Args) T {
	t.Helper()
	var out T
	if err := json.Unmarshal(s.Must(t, name, args).Structured, &out); err != nil {
		t.Fatalf("%s %v: %v", name, args, err)
	}
	return out
}

// WriteFile writes a file of the workspace.
func (s Tools) WriteFile(t testing.TB, name, content string) {
	t.Helper()
	WriteFile(t, filepath.Join(s.Root, filepath.FromSlash(name)), content)
}

// WantFile checks the content of a file of the workspace.
func (s Tools) WantFile(t testing.TB, name, want string) {
	t.Helper()
	if b, err := os.ReadFile(filepath.Join(s.Root, name)); string(b) != want || err != nil {
		t.Errorf("%s has %q, %v; want %q", name, b, err, want)
	}
}

// Symlink makes a symbolic link in the workspace, or skips the test.
func (s Tools) Symlink(t testing.TB, target, name string) {
	t.Helper()
	Symlink(t, target, filepath.Join(s.Root, name))
}

// WriteFile writes a file and makes the directories above it.
func WriteFile(t testing.TB, path, content string) {
	t.Helper()
	if err := errors.Join(os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, []byte(content), 0o644)); err != nil {
		t.Fatal(err)
	}
}

// Symlink makes a symbolic link, or skips the test on a system that makes none.
func Symlink(t testing.TB, target, path string) {
	t.Helper()
	if err := os.Symlink(target, path); err != nil {
		t.Skipf("this system makes no symbolic links here: %v", err)
	}
}

// Promptly ends the test if f takes more than a minute: it waits for something
// that will not come.
func Promptly(t testing.TB, f func()) {
	t.Helper()
	done := make(chan struct{})
	go func() {
		defer close(done)
		f()
	}()
	select {
	case <-done:
	case <-time.After(time.Minute):
		t.Fatal("still waiting after a minute")
	}
}
