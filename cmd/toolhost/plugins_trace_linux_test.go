package main

import (
	"path/filepath"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
)

// trace is toolhost plugins trace in this world.
func (w *world) trace(words ...string) outcome {
	w.t.Helper()
	return w.bare(slices.Concat([]string{"--plugin-dir", w.plugins, "--root", w.root, "plugins", "trace"}, words)...)
}

// What a plugin used is printed as lines of toolhost.yaml, and they are enough for the same call.
func TestTrace(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs", "buffer")
	w.write("a.txt", "hello\n")
	read := []string{"fs.read", `{"path":"a.txt"}`, "--grant", "fs:read", "--root", w.root}
	lines := w.trace(slices.Concat([]string{"fs", "--"}, read[:4])...).exits(exit.Done).
		prints("plugins:\n  fs:\n    sandbox:\n      read: [workspace]\n      write: none\n      net: none\n      exec: none\n").stdout
	w.write("traced.yaml", lines)
	config := []string{"--config", filepath.Join(w.root, "traced.yaml")}
	w.run(slices.Concat([]string{"call"}, read, config)...).exits(exit.Done).prints("hello")
	w.run(slices.Concat([]string{"call", "fs.write", `{"path":"b.txt","content":"x"}`, "--grant", "fs:write", "--yes", "--root", w.root}, config)...).exits(exit.Failed)

	var got traced
	w.trace("fs", "fs.write", "--arg", "path=b.txt", "--arg", "content=x", "--grant", "fs:write", "--yes", "--json").
		exits(exit.Done).json(&got)
	if !slices.Equal(got.Needs.Write, []string{"workspace"}) || got.Needs.Net != nil || got.Needs.Exec != nil || got.Plugin != "fs" {
		t.Errorf("%+v", got)
	}
}

// Without a tool, the plugin is started alone; a call that fails is traced too, and one that is
// not sent is not.
func TestTraceErrors(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "fs")
	w.trace().exits(exit.BadUsage).says("needs the name of a plugin")
	w.trace("fsx").exits(exit.BadUsage).says("there is no plugin fsx", "did you mean fs?")
	w.trace("fs").exits(exit.Done).prints("sandbox:")
	w.trace("fs", "--", "fs.read", "--arg", "path=none", "--grant", "fs:read").exits(exit.Failed).
		prints("sandbox:").says("not found: none")
	for status, line := range map[int][]string{
		exit.BadUsage: {"fs.read", "--no-such-flag"}, exit.Unknown: {"fs.reed"}, exit.Arguments: {"fs.read", "--grant", "fs:read"},
		exit.Refused: {"fs.read", "--arg", "path=a"},
	} {
		if got := w.trace(slices.Concat([]string{"fs", "--"}, line)...).exits(status); got.stdout != "" {
			t.Errorf("%v prints %q", line, got.stdout)
		}
	}
	w.run("plugins", "disable", "fs").exits(exit.Done)
	w.trace("fs").exits(exit.BadUsage).says("the plugin fs is disabled")
	w.bare("__complete", "--plugin-dir", w.plugins, "plugins", "trace", "f").exits(exit.Done).prints("fs\t")
}

// What a plugin declares is compared with what it used, and an MCP server is traced as well.
func TestTraceDeclared(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.declares("needy", needsA)
	out := w.trace("needy", "--", "play.echo").exits(exit.Done).prints("# declared and not used: ", "net: a.example:443")
	assert.NotContains(t, out.stdout, "used and not declared")
	w.run("plugins").exits(exit.Done).prints("needy") // nothing was accepted or remembered
	w.write("servers.yaml", "mcp_servers:\n  one:\n    command: "+filepath.Join(built.dir, "mcpserver")+"\n")
	w.trace("one", "--config", filepath.Join(w.root, "servers.yaml")).exits(exit.Done).
		prints("mcp_servers:\n  one:\n    sandbox:\n      read: ")
}
