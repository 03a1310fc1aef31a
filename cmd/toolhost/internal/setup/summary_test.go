package setup

import (
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

// The person who decides on a file is told all that an MCP server is started with.
func TestSummaryOfServers(t *testing.T) {
	t.Parallel()
	got := Summary(parsed(t, []byte(`
mcp_servers:
  files: {command: npx, args: [-y, files], env: {TOKEN: {from_env: FILES_TOKEN}}, namespace: off}
  tracker: {url: "https://mcp.example.com/mcp", headers: {Authorization: "Bearer ${TRACKER}"}}
`)))
	want := []string{
		`mounts the MCP server files, for which it runs ["npx" "-y" "files"]`,
		"gives the MCP server files your variable FILES_TOKEN, as TOKEN",
		"runs the MCP server files without a PID namespace",
		"mounts the MCP server tracker at https://mcp.example.com/mcp",
		"sends the MCP server tracker a header Authorization",
	}
	assert.EqualSlicesf(t, got, want, "it says")
}

// The person who decides on a file is told all that sandboxes let processes do, once, a line
// each: a long list cannot hide one at its end.
func TestSummaryOfSandboxes(t *testing.T) {
	t.Parallel()
	got := Summary(parsed(t, []byte(`
defaults: {sandbox: {read: [workspace, /srv/data], exec: [git], env: [PATH, SECRET]}}
plugins:
  free: {sandbox: {level: none}}
  strict: {sandbox: {level: strict, net: none}}
  wide: {sandbox: {read: any, write: [workspace, cache, /srv/data], net: any, exec: any}}
  web: {sandbox: {read: none, net: [a.example:443, "*.b.example:443"]}}
mcp_servers:
  files: {command: npx, sandbox: {net: any, exec: none, env: none}}
  tracker: {url: "https://mcp.example.com/mcp"}
`)))
	want := []string{
		"lets plugins read the workspace", "lets plugins read /srv/data", "lets plugins start git",
		"gives plugins your variable PATH", "gives plugins your variable SECRET",
		"runs plugin free without a sandbox",
		"lets plugin web connect to a.example:443", "lets plugin web connect to *.b.example:443",
		"lets plugin wide read any file", "lets plugin wide change the workspace", "lets plugin wide change a cache of its own",
		"lets plugin wide change /srv/data", "lets plugin wide connect to any host", "lets plugin wide start any program",
		`mounts the MCP server files, for which it runs ["npx"]`,
		"lets the MCP server files read the workspace", "lets the MCP server files read /srv/data", "lets the MCP server files connect to any host",
		"mounts the MCP server tracker at https://mcp.example.com/mcp",
		"sets: defaults: sandbox; plugin free: sandbox; plugin strict: sandbox; plugin web: sandbox; plugin wide: sandbox",
	}
	assert.EqualSlicesf(t, got, want, "it says")
	got = Summary(parsed(t, []byte("defaults: {sandbox: {level: none}}\nplugins: {a: {}, b: {sandbox: {level: strict, write: any}}}\nmcp_servers: {s: {command: x}}")))
	want = []string{
		"runs plugins without a sandbox", "lets plugin b change any file", `mounts the MCP server s, for which it runs ["x"]`,
		"runs the MCP server s without a sandbox", "sets: defaults: sandbox; plugin a: sandbox; plugin b: sandbox",
	}
	assert.EqualSlicesf(t, got, want, "it says")
}
