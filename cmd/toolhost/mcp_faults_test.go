package main

import (
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A server that exits, hangs or floods in a daemon costs its own calls: its neighbours answer
// meanwhile, and it does afterwards.
func TestMCPServerFaults(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	w.write("toolhost.yaml", `mcp_servers:
  bad: {command: `+filepath.Join(built.dir, "mcpserver")+`, args: [echo, exit, hang, flood]}
  good: {command: `+filepath.Join(built.dir, "mcpserver")+`, args: [echo, pid]}
  dies: {command: `+filepath.Join(built.dir, "mcpserver")+`, args: [echo, exit], restart: {free: 1, quarantine: 2, cooldown: 1h}}
tools: {good.pid: {safety: safe}, good.echo: {safety: safe}, bad.echo: {safety: safe}, dies.exit: {safety: safe}}
`)
	named := []string{"--config", filepath.Join(w.root, "toolhost.yaml")}
	run := func(args ...string) outcome { t.Helper(); return w.run(append(args, named...)...) }
	w.serve(append(named, "--yes")...)
	pid := run("call", "good.pid", "{}").exits(exit.Done).stdout
	run("call", "bad.exit", "{}", "--yes").exits(exit.Unavailable).says("exit status 3")
	run("call", "bad.echo", `{"text":"back"}`).exits(exit.Done).prints("back")
	run("call", "bad.hang", "{}", "--yes", "--timeout", "100ms").exits(exit.Ended)
	run("call", "bad.echo", `{"text":"back"}`).exits(exit.Done).prints("back")
	run("call", "bad.flood", "{}", "--yes").exits(exit.Unavailable).says("16 MiB")
	run("call", "bad.echo", `{"text":"back"}`).exits(exit.Done).prints("back")
	equal(t, "the neighbour's process", run("call", "good.pid", "{}").exits(exit.Done).stdout, pid)
	run("logs", "bad").exits(exit.Done).prints("exit status 3")

	for range 2 {
		run("call", "dies.exit", "{}").exits(exit.Unavailable)
	}
	run("call", "dies.echo", "{}", "--yes").exits(exit.Unavailable).says("quarantined")
	equal(t, "the state", w.mcpServers(named...)["dies"].State, plugin.Quarantined)
	run("plugins", "--kind", "mcp").prints("quarantined")

	run("plugins", "disable", "good").exits(exit.Done)
	equal(t, "the state", w.mcpServers(named...)["good"].State, plugin.Disabled)
	run("call", "good.pid", "{}").exits(exit.Unknown).says("the plugin good is disabled")
	run("plugins", "enable", "good").exits(exit.Done)
	run("call", "good.pid", "{}").exits(exit.Done)
	run("plugins", "restart", "dies").exits(exit.Done)
	run("call", "dies.echo", `{"text":"again"}`, "--yes").exits(exit.Done).prints("again")
}

// A reload mounts what is new, exchanges what has changed and removes what is gone; what stays
// keeps its process. Without the operator's word, a file in the workspace is not read again.
func TestMCPReload(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	config := w.mcpConfig(map[string]any{"stays": mcpServer("pid"), "changes": mcpServer("echo"), "goes": mcpServer("echo")})
	file := filepath.Join(w.state, "toolhost.yaml") // outside the workspace, so that a change counts
	require.NoError(t, os.WriteFile(file, []byte("log_level: warn\n"), 0o600))
	s := w.serve(config, "--yes", "--config", file)
	w.env = append(w.env, "TOOLHOST_CONFIG="+file)
	pid := w.run("call", "stays.pid", "{}", "--yes", config).exits(exit.Done).stdout
	w.run("call", "goes.echo", `{"text":"x"}`, "--yes", config).exits(exit.Done)

	w.mcpConfig(map[string]any{"stays": mcpServer("pid"), "changes": mcpServer("echo", "whoami"), "comes": mcpServer("echo")})
	w.run("plugins", "--kind", "mcp", config).says("it runs with an earlier version of ")
	require.NoError(t, os.WriteFile(file, []byte("sessions: {max: 3}\n"), 0o600))
	if s.await("reloaded: sessions"); strings.Contains(s.said[len(s.said)-1], "MCP server") {
		t.Error("a file in the workspace is read again without the operator's word")
	}
	require.NoError(t, s.cmd.Process.Signal(syscall.SIGHUP))
	s.await("reloaded: MCP server changes; MCP server comes; MCP server goes")
	equal(t, "the process", w.run("call", "stays.pid", "{}", "--yes", config).exits(exit.Done).stdout, pid)
	w.run("call", "changes.whoami", "{}", "--yes", config).exits(exit.Done).prints("echo whoami")
	w.run("call", "comes.echo", `{"text":"x"}`, "--yes", config).exits(exit.Done)
	w.run("call", "goes.echo", `{"text":"x"}`, "--yes", config).exits(exit.Unknown)
	if all := w.mcpServers(config); len(all) != 3 || all["stays"].PID == 0 {
		t.Errorf("the servers are %+v", all)
	}
}
