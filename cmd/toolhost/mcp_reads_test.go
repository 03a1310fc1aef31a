package main

import (
	"context"
	"fmt"
	"path/filepath"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// readBy reads a resource, and returns its text, or the error's.
func readBy(ctx context.Context, c *mcp.ClientSession, uri string) string {
	res, err := c.ReadResource(ctx, &mcp.ReadResourceParams{URI: uri})
	if err != nil {
		return err.Error()
	}
	return res.Contents[0].Text
}

// What a caller asks of a server besides tools passes the chain, as the call of a tool that it has, or has not.
func TestReadsPassTheChain(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	srv := mcpServer()
	w.configure("tools: {srv.echo: {safety: safe}}", "mcp_servers: {srv: {command: "+srv["command"].(string)+
		`, args: ["-resources", "file:///etc/hosts file:///{+path}", "-prompts", "p", "echo", "pid"], include: [echo]}}`,
		"callers:", "  bob: {approval: 'no', tools: {allow: [srv.echo], max_safety: safe}, rate: 1/1h, max_calls: 1}",
		"  cal: {approval: 'no'}", "  ann: {approval: 'yes'}")
	d := w.serveMCP()
	bob, cal, ann := d.connect(w.token("bob"), nil), d.connect(w.token("cal"), nil), d.connect(w.token("ann"), nil)
	for range 30 {
		assert.Containsf(t, readBy(t.Context(), bob, "file:///etc/shadow"), "Resource not found", "bob reads")
	}
	if _, err := bob.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: "p"}); err == nil || !strings.Contains(err.Error(), "Unknown prompt") {
		t.Errorf("bob gets a prompt: %v", err)
	}
	w.run("audit", "--caller", "bob", "--tool", "srv.mcp.read", "--json").exits(exit.Done).prints(`"code":"not_found"`)
	w.run("audit", "--caller", "bob", "--tool", "srv.mcp.prompt", "--json").exits(exit.Done).prints(`"code":"not_found"`)

	// What the server lists needs no yes, and all else does.
	const secret = "file:///etc/shadow"
	equal(t, "cal reads what is listed", readBy(t.Context(), cal, "file:///etc/hosts"), "file:///etc/hosts of echo pid")
	assert.Containsf(t, readBy(t.Context(), cal, secret), "Approval denied for tool: srv.mcp.read", "cal reads")
	equal(t, "ann reads the secret", readBy(t.Context(), ann, secret), secret+" of echo pid")
	w.run("audit", "--caller", "cal", "--tool", "srv.mcp.read", "--json").exits(exit.Done).
		prints(`"decision":"allowed"`, `"decision":"denied"`, `"client":"tester 7"`, secret)

	// Operators see the tools, and models do not.
	w.run("tools").exits(exit.Done).prints("srv.mcp.read", "srv.mcp.prompt", "srv.echo")
	w.run("call", "srv.mcp.read", "--arg", "uri=file:///etc/hosts").exits(exit.Done).prints("file:///etc/hosts of echo pid")
	if got := w.run("tools", "--for", "mcp").exits(exit.Done); strings.Contains(got.stdout, "mcp_read") || strings.Contains(got.stdout, "mcp.read") {
		t.Errorf("models are told of %s", got.stdout)
	}
	for name, err := range ann.Tools(t.Context(), nil) {
		require.NoError(t, err)
		assert.NotContainsf(t, name.Name, "mcp", "a client lists")
	}
}

// Names of prompts and resources stay with the server that had them first, whatever another lists later.
func TestPromptsAndResourcesAreNotTaken(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	server := func(name, resources string) string {
		return fmt.Sprintf("  %s: {command: %s, args: [-prompts, p, -resources, %q, echo, %s]}",
			name, filepath.Join(built.dir, "mcpserver"), resources, map[string]string{"aaa": "pid", "srv": "env"}[name])
	}
	mine := server("srv", "srv://one file:///{+path}")
	w.configure("mcp_servers:", mine)
	w.run("call", "srv.mcp.read", "--arg", "uri=srv://one").exits(exit.Done).prints("srv://one of echo env")
	w.configure("mcp_servers:", mine, server("aaa", "srv://one aaa://one file:///home/{+x}"), "callers: {ann: {approval: 'yes'}}")
	d := w.serveMCP()
	ann := d.connect(w.token("ann"), nil)
	for uri, by := range map[string]string{"srv://one": "env", "file:///home/me": "env", "aaa://one": "pid"} {
		equal(t, "who answers for "+uri, readBy(t.Context(), ann, uri), uri+" of echo "+by)
	}
	var names []string
	for p, err := range ann.Prompts(t.Context(), nil) {
		names = append(names, require.Must(p, err)(t).Name)
	}
	equal(t, "the prompts", fmt.Sprint(names), "[aaa.p p]")
	for name, by := range map[string]string{"p": "p of echo env", "aaa.p": "p of echo pid"} {
		got := require.Must(ann.GetPrompt(t.Context(), &mcp.GetPromptParams{Name: name}))(t)
		equal(t, "prompt "+name, got.Messages[0].Content.(*mcp.TextContent).Text, by)
	}
	lost := []string{"prompt p of plugin aaa is served as aaa.NAME, as plugin srv has its name", "resource srv://one of plugin aaa is not served"}
	w.run("plugins", "show", "aaa").exits(exit.Done).prints(append(lost, "prompts 1, resources 2, resource templates 1")...)
	w.run("plugins", "show", "srv").exits(exit.Done).prints("plugin aaa wants 2 of its names too", "prompts 1, resources 1, resource templates 1")
	w.run("doctor").prints(lost...)
}
