package conformance

import (
	"fmt"
	"net"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// maker is a server that the makers of an SDK have for the suite.
type maker struct {
	program string // in internal/test/others
	stdio   bool   // whether it is mounted so
	args    func(address string) []string
	late    []string // what fails at times by the server's own doing: it answers before it has sent all notices
}

var makers = map[string]maker{
	"go-sdk": {"github.com/modelcontextprotocol/go-sdk/conformance/everything-server", true, func(address string) []string {
		return []string{"-stateless=false", "-http", address}
	}, nil},
	"mcp-go": {"github.com/mark3labs/mcp-go/examples/conformance", false, func(string) []string { return nil }, []string{"tools-call-with-logging", "tools-call-with-progress"}},
}

// mountedRevision is the last in which servers ask by their sessions.
const mountedRevision = "2025-11-25"

// What passes with the servers of two SDKs passes as well if toolhost is between.
func TestMountedServersLoseNothing(t *testing.T) {
	t.Parallel()
	modules(t)
	for name, m := range makers { //nolint:paralleltest // each takes the whole machine
		t.Run(name, func(t *testing.T) {
			program := filepath.Join(t.TempDir(), name)
			if out, err := exec.CommandContext(t.Context(), "go", "build", "-C", "../others", "-o", program, m.program).CombinedOutput(); err != nil {
				t.Fatalf("%v\n%s", err, out)
			}
			address := fmt.Sprintf("127.0.0.1:%d", mcptest.FreePort(t))
			direct := newWorld(t, "")
			cmd := direct.program(t.Context(), program, m.args(address)...)
			cmd.Env = append(cmd.Environ(), "CONFORMANCE_ADDR="+address)
			require.NoError(t, cmd.Start())
			t.Cleanup(func() { _ = cmd.Wait() })
			require.Eventually(t, "it listens", func() bool {
				conn, err := net.Dial("tcp", address) //nolint:noctx // of this machine
				if err == nil {
					_ = conn.Close()
				}
				return err == nil
			})
			url := "http://" + address + "/mcp"

			front := newProxy(t)
			w := newWorld(t, mountedConfig(t, m, program, url)+"mcp: {origins: ["+front.origin()+"]}\n")
			// The first call shows that the server asks by its session, which later processes know.
			_ = w.program(t.Context(), w.toolhost(), w.arguments("call", "test_sampling", `{"prompt":"x"}`)...).Run()
			alone, _ := failing(t, url)
			mounted, why := failing(t, front.start(t, w.serve()))
			t.Logf("alone %d fail, mounted %d", len(alone), len(mounted))
			for scenario := range mounted {
				if !alone[scenario] && !slices.Contains(m.late, scenario) {
					t.Errorf("%s is lost:\n%s", scenario, why)
				}
			}
		})
	}
}

// mountedConfig mounts a server whose tools keep their names.
func mountedConfig(t *testing.T, m maker, program, url string) string {
	t.Helper()
	client := mcp.NewClient(&mcp.Implementation{Name: "lists", Version: "1"}, nil)
	c := require.Must(client.Connect(t.Context(), &mcp.StreamableClientTransport{Endpoint: url}, nil))(t)
	defer func() { _ = c.Close() }()
	var b strings.Builder
	at := fmt.Sprintf("url: %q", url)
	if m.stdio {
		at = fmt.Sprintf("command: %q", program)
	}
	fmt.Fprintf(&b, "mcp_servers: {srv: {%s, questions: {sampling: true}}}\ntools:\n  srv.mcp.read: {approval: allow}\n  srv.mcp.subscribe: {approval: allow}\n", at)
	for tool, err := range c.Tools(t.Context(), nil) {
		require.NoError(t, err)
		fmt.Fprintf(&b, "  srv.%s: {rename: %s, safety: safe}\n", tool.Name, tool.Name)
	}
	return b.String()
}

// failing are the scenarios that fail at a URL, and what the suite did not like.
func failing(t *testing.T, url string) (names map[string]bool, why string) {
	t.Helper()
	dir := t.TempDir()
	words := node(t, suite, "server", "--timeout", fmt.Sprint(limit.Milliseconds()), "--requirements", mountedRevision, "--url", url, "-o", dir)
	out, _ := exec.CommandContext(t.Context(), words[0], words[1:]...).CombinedOutput() // its status is that of the worst
	if !total.Match(out) {
		t.Fatalf("the suite checked nothing:\n%s", out)
	}
	names = map[string]bool{}
	for _, m := range failed.FindAllSubmatch(out, -1) {
		names[string(m[1])] = true
	}
	return names, failures(t, dir)
}
