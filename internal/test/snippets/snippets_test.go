package snippets

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

func TestRead(t *testing.T) {
	t.Parallel()
	blocks, err := Read("# T\n\n```sh fails\nfalse\n```\n\n- item\n\n      in the item\n\n```go file=a/main.go\npackage main\n```\n```text output\nok\n```\n```sh no-run: needs a moon\nx\n```\n```sh as=7 waits\nx\n```\n")
	if err != nil || len(blocks) != 5 {
		t.Fatalf("%d blocks: %v", len(blocks), err)
	}
	for i, want := range []Block{
		{Line: 4, Language: "sh", Fails: true, Text: "false\n"}, {Line: 12, Language: "go", File: "a/main.go", Text: "package main\n"},
		{Line: 15, Language: "text", Output: true, Text: "ok\n"}, {Line: 18, Language: "sh", NoRun: "needs a moon", Text: "x\n"},
		{Line: 21, Language: "sh", As: "7", Waits: true, Text: "x\n"},
	} {
		assert.Equalf(t, blocks[i], want, "block %d", i)
	}
	for _, bad := range []string{"```\nx\n```\n", "```sh\nx\n", "```sh ?\n```\n", "```sh no-run:\n```\n", "text\n\n    toolhost tools\n", "```sh\n```go\n"} {
		if _, err := Read(bad); err == nil {
			t.Errorf("%q is read", bad)
		}
	}
}

func TestMatch(t *testing.T) {
	t.Parallel()
	const output = "NAME   STATE   DIGEST\nfs     ready   sha256:0123456789abcdef\nread in 12.5 ms, 3 files\n"
	for want, ok := range map[string]bool{
		"NAME STATE DIGEST\nfs ready sha256:fedcba9876543210\n": true,
		"NAME STATE ...\n...\nread in 1 ms, 9 files\n":          true,
		"read in 1 ms, 9 files\nNAME STATE DIGEST\n":            false,
		"fs degraded sha256:0123456789abcdef\n":                 false,
		"fs\n":                                                  false,
	} {
		if err := Match(want, output); (err == nil) != ok {
			t.Errorf("%q: %v", want, err)
		}
	}
	assert.ErrorContains(t, Match("gone\n", output), "gone")
}
