package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What was called is on record, by default in the user's state directory.
func TestCallsAreOnRecord(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.write("a.txt", "text")
	read := []string{"call", "fs.read", `{"path":"a.txt"}`}
	w.run(append(read, "--grant", "fs:read")...).exits(0)
	w.run(read...).exits(5)
	w.run("call", "fs.write", `{"path":"b.txt","content":"x"}`, "--grant", "fs:write", "--yes").exits(0)

	log := filepath.Join(w.state, "toolhost", "audit.jsonl")
	content := require.Must(os.ReadFile(log))(t)
	for _, want := range []string{
		`"event":"end"`, `"tool":"fs.read"`, `"code":"permission_denied"`, `"event":"begin"`, `"decision":"approved"`, `"approver":"--yes"`,
	} {
		assert.Containsf(t, string(content), want, "the log lacks %s:\n%s", want, content)
	}
	if n := strings.Count(string(content), "\n"); n != 4 {
		t.Errorf("%d lines, want an end line for each call and a begin line for one:\n%s", n, content)
	}
	w.run("audit", "verify").exits(0)
	if got := w.run("audit", "--code", "permission_denied", "--json").exits(0); strings.Count(got.stdout, "\n") != 1 {
		t.Errorf("search found %q", got.stdout)
	}

	w.run(append(read, "--audit", "off")...).exits(5)
	w.run(append(read, "--audit", filepath.Join(w.state, "other.jsonl"))...).exits(5)
	w.run(append(read, "--audit", w.state)...).exits(2) // a directory
	w.env = append(w.env, "TOOLHOST_AUDIT="+filepath.Join(w.state, "other.jsonl"))
	w.run(read...).exits(5)
	if got := w.run("audit", "--json").exits(0); strings.Count(got.stdout, "\n") != 2 {
		t.Errorf("the log that the variable names has %q", got.stdout)
	}
	w.env = w.env[:len(w.env)-1]
	again, err := os.ReadFile(log)
	if err != nil || string(again) != string(content) {
		t.Errorf("the default log changed: %v", err)
	}
	edited := strings.Replace(string(content), "fs.read", "fs.list", 1)
	require.NoError(t, os.WriteFile(log, []byte(edited), 0o600))
	w.run("audit", "verify").exits(1)
}
