package main

import (
	"bytes"
	"context"
	"fmt"
	"os"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// serveMCP is the argument that makes this test's binary an MCP server.
const serveMCP = "serve-mcp"

func TestMain(m *testing.M) {
	if os.Args[len(os.Args)-1] != serveMCP {
		os.Exit(m.Run())
	}
	if err := mcptest.Server().Run(context.Background(), &mcp.StdioTransport{}); err != nil {
		fmt.Fprintln(os.Stderr, err)
	}
}

// A plugin's question and an MCP server's dangerous tool get to the person, and their answers
// decide.
func TestEmbed(t *testing.T) {
	t.Parallel()
	dir := plugintest.Dir(t, plugintest.Asking)
	server := os.Args[0] + " " + serveMCP
	for _, c := range []struct {
		tool, typed string
		want        []string
	}{
		{"ask.order", `{"size":"l","count":2}`, []string{"Tool ask.order of plugin asking asks: Which one?", "success: true\naccept: 2 of l, gift false"}},
		{"everything.test_trigger_prompt_change", "y", []string{"run everything.test_trigger_prompt_change {}? [y/n] ", "success: true\nchanged"}},
		{"everything.test_trigger_prompt_change", "n", []string{"success: false\nApproval denied for tool: everything"}},
		{"nothing", "", []string{"success: false\nUnknown tool: nothing"}},
	} {
		t.Run(c.tool+" "+c.typed, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			args := []string{"-plugins", dir, "-mcp", server, c.tool, "{}"}
			if err := run(t.Context(), args, strings.NewReader(c.typed+"\n"), &out); err != nil {
				t.Fatal(err)
			}
			for _, want := range c.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("it prints %q without %q", out.String(), want)
				}
			}
		})
	}
}

// The example is short enough to be read at once.
func TestEmbedIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile("main.go")
	if err != nil {
		t.Fatal(err)
	}
	if n := bytes.Count(text, []byte("\n")); n >= 80 {
		t.Errorf("main.go has %d lines", n)
	}
}
