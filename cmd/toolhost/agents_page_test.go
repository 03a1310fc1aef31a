package main

import (
	"encoding/json"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/internal/test/require"
)

// The configurations of docs/agents.md are short, and have commands that this program takes.
func TestAgentsPage(t *testing.T) {
	t.Parallel()
	page := require.Must(os.ReadFile(filepath.Join("..", "..", "docs", "agents.md")))(t)
	commands := 0
	takes := func(words []string) {
		t.Helper()
		commands++
		root := newRootCommand(session.New(strings.NewReader(""), io.Discard, io.Discard), func() {})
		cmd, rest, err := root.Find(words)
		if err == nil {
			err = cmd.ParseFlags(rest)
		}
		if err != nil || cmd.Name() != "serve" || cmd.Flags().Lookup("mcp").Value.String() != "stdio" {
			t.Errorf("%q is not taken: %v", words, err)
		}
	}
	for section := range strings.SplitSeq(string(page), "\n## ") {
		name, _, _ := strings.Cut(section, "\n")
		for _, block := range regexp.MustCompile("(?s)```([a-z]+)(?: no-run:[^\n]*)?\n(.*?)```").FindAllStringSubmatch(section, -1) {
			text := block[2]
			if n := strings.Count(text, "\n"); n >= 10 {
				t.Errorf("%s: %d lines", name, n)
			}
			if block[1] == "json" {
				var file map[string]any
				if err := json.Unmarshal([]byte(text), &file); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			for _, list := range regexp.MustCompile(`(?:"?args"?)\s*[=:]\s*(\[[^]]*\])`).FindAllStringSubmatch(text, -1) {
				takes(regexp.MustCompile(`[^][", ]+`).FindAllString(list[1], -1))
			}
		}
	}
	if commands != 3 {
		t.Errorf("%d commands are tested", commands)
	}
}
