package worktest_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/mcpclient"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// MCP servers of npm that need no account to list their tools, with the program in the package and its arguments.
var npmServers = map[string][]string{
	"@modelcontextprotocol/server-filesystem":          {"dist/index.js", "."},
	"@modelcontextprotocol/server-everything":          {"dist/index.js"},
	"@modelcontextprotocol/server-memory":              {"dist/index.js"},
	"@modelcontextprotocol/server-sequential-thinking": {"dist/index.js"},
	"@playwright/mcp":                                  {"cli.js"},
	"@upstash/context7-mcp":                            {"dist/index.js"},
	"@antv/mcp-server-chart":                           {"build/index.js"},
	"@eslint/mcp":                                      {"src/mcp-cli.js"},
	"@cyanheads/git-mcp-server":                        {"dist/index.js"},
	"@agent-infra/mcp-server-commands":                 {"dist/index.cjs"},
	"@notionhq/notion-mcp-server":                      {"bin/cli.mjs"},
	"@kazuph/mcp-taskmanager":                          {"dist/index.js"},
	"figma-developer-mcp":                              {"dist/bin.js", "--stdio", "--figma-api-key=none"},
	"mcp-fetch-server":                                 {"dist/index.js"},
	"mcp-server-kubernetes":                            {"dist/index.js"},
	"mongodb-mcp-server":                               {"dist/esm/index.js", "--logPath", ".", "--exportsPath", "."},
	"nx-mcp":                                           {"main.js", "."},
	"repomix":                                          {"bin/repomix.cjs", "--mcp"},
	"time-mcp":                                         {"dist/index.js"},
	"chrome-devtools-mcp":                              {"build/src/bin/chrome-devtools-mcp.js"},
}

// Well-known servers list their tools in a strict sandbox that has the workspace and their own files. One of
// them starts a program, to look for a newer version.
func TestNpmServers(t *testing.T) {
	t.Parallel()
	if os.Getenv("TOOLHOST_TEST_NPM") == "" {
		t.Skip(".ci/long runs it: it installs packages of npm")
	}
	for _, program := range []string{"npm", "node"} {
		if _, err := exec.LookPath(program); err != nil {
			t.Skip(program + " is not here")
		}
	}
	for name, line := range npmServers {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			root, dir := t.TempDir(), t.TempDir()
			npm := exec.CommandContext(t.Context(), "npm", "install", "--prefix", dir, "--ignore-scripts", "--no-audit", "--no-fund", name) //nolint:gosec // of the list
			npm.Dir = dir
			if out, err := npm.CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			settings := plugin.DefaultSettings()
			settings.StartTimeout = ceiling
			none := []string{}
			settings.Sandbox = plugin.Sandbox{
				Level: plugin.Strict, Read: []string{tool.Workspace, dir}, Write: []string{tool.Workspace}, Net: none, Exec: none,
			}
			if name == "chrome-devtools-mcp" {
				settings.Sandbox.Exec = []string{tool.Any}
			}
			program := filepath.Join(dir, "node_modules", filepath.FromSlash(name), line[0])
			u := require.Must(mcpclient.New(mcpclient.Config{Name: "server", Command: "node", Args: append([]string{program}, line[1:]...)}))(t)
			h := require.Must(host.New(host.WithRoot(root)))(t)
			defer func() { require.NoError(t, h.Close(t.Context())) }()
			n := require.Must(h.Mount(t.Context(), plugin.Server{Name: "server", Connector: u, Identity: name, Settings: settings}))(t)
			if n == 0 {
				t.Error("it has no tools")
			}
		})
	}
}
