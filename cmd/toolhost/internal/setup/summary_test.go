package setup

import (
	"slices"
	"testing"
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
	if !slices.Equal(got, want) {
		t.Errorf("it says %q\nwant %q", got, want)
	}
}
