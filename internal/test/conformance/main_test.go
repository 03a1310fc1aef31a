// Package conformance runs software that others wrote against toolhost: MCP's conformance
// suite, servers of the MCP project, and clients made with another SDK. All of it comes from
// npm; npm/package-lock.json pins it, and make conformance installs it and runs the tests.
package conformance

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/plugintest"
)

// fixtures is the mode of this binary that is the plugin of mcptest.
const fixtures plugintest.Mode = "fixtures"

// serveFlag makes this binary the MCP server of mcptest.
const serveFlag = "-everything"

// This binary is the tests, and also the plugin, the MCP server and the client that they use.
func TestMain(m *testing.M) {
	switch {
	case len(os.Args) == 2 && os.Args[1] == serveFlag:
		exit(mcptest.Server().Run(context.Background(), &mcp.StdioTransport{}))
	case os.Getenv(scenarioVariable) != "" && len(os.Args) == 2:
		exit(beClient(os.Getenv(scenarioVariable), os.Args[1]))
	default:
		plugintest.Main(m, map[plugintest.Mode]func(){fixtures: mcptest.Plugin, traced: beTraced})
	}
}

func exit(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	os.Exit(0)
}

// modulesVariable names the directory into which make conformance has put npm's packages.
const modulesVariable = "TOOLHOST_NODE_MODULES"

// modules is that directory. Without it the test has nothing to run.
func modules(t *testing.T) string {
	t.Helper()
	dir := os.Getenv(modulesVariable)
	if dir == "" {
		t.Skip("needs packages from npm: run make conformance")
	}
	return dir
}

// node is the program of a package of npm, as Node runs it.
func node(t *testing.T, file string, args ...string) []string {
	t.Helper()
	dir := modules(t)
	programs, _ := filepath.Glob(filepath.Join(dir, "node-*", "bin", "node"))
	if len(programs) != 1 {
		t.Fatalf("%s has no Node for this machine: run make conformance", dir)
	}
	return append([]string{programs[0], filepath.Join(dir, file)}, args...)
}
