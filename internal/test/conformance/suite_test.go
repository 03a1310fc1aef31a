package conformance

import (
	"encoding/json"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/mcptest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// suite is the program of the conformance suite.
const suite = "@modelcontextprotocol/conformance/dist/index.js"

var total = regexp.MustCompile(`(?m)^Total: [1-9]\d* passed, \d+ failed`)

// failed is the line of a scenario that fails.
var failed = regexp.MustCompile(`(?m)^✗ ([^:\s]+): \d+ passed, [1-9]\d* failed`)

// runSuite runs the suite on one side for one revision. What fails is in expected.yaml, and has
// to fail: the suite's status is another than 0 if it does not. How many checks a scenario has is
// not counted: that depends on how often a client calls.
func runSuite(t *testing.T, side, revision string, args ...string) {
	t.Helper()
	args = append([]string{side, "--timeout", strconv.FormatInt(limit.Milliseconds(), 10)}, args...)
	if revision < "2025-11-25" { // there are no lists of what those required
		args = append(args, "--suite", "all", "--spec-version", revision)
	} else {
		args = append(args, "--requirements", revision)
	}
	expected := require.Must(filepath.Abs("expected.yaml"))(t)
	dir := t.TempDir()
	words := node(t, suite, append(args, "--expected-failures", expected, "-o", dir)...)
	cmd := exec.CommandContext(t.Context(), words[0], words[1:]...)
	out, err := cmd.CombinedOutput()
	if err != nil {
		_, summary, _ := strings.Cut(string(out), "SUMMARY ===")
		t.Errorf("the suite: %v\n%s\n%s", err, summary, failures(t, dir))
	}
	if !total.Match(out) {
		t.Errorf("the suite checked nothing:\n%s", out)
	}
	known := require.Must(os.ReadFile(expected))(t)
	for _, m := range failed.FindAllSubmatch(out, -1) { // the status leaves out what no revision requires
		if !regexp.MustCompile(`(?m)^  - ` + regexp.QuoteMeta(string(m[1])) + `(:|$)`).Match(known) {
			t.Errorf("%s fails, and is not in expected.yaml:\n%s", m[1], failures(t, dir))
		}
	}
	t.Logf("%s, %s: %s", side, revision, total.Find(out))
}

// failures says what the suite did not like, by the files that it wrote.
func failures(t *testing.T, dir string) string {
	t.Helper()
	var b strings.Builder
	err := filepath.WalkDir(dir, func(path string, _ fs.DirEntry, err error) error {
		if err != nil || filepath.Base(path) != "checks.json" {
			return err
		}
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		var checks []struct {
			ID, Status, ErrorMessage string
			Details                  json.RawMessage
		}
		if err := json.Unmarshal(text, &checks); err != nil {
			return err
		}
		for _, c := range checks {
			if c.Status == "FAILURE" || c.Status == "WARNING" {
				fmt.Fprintf(&b, "%s: %s\n\t%.1000s\n", c.ID, c.ErrorMessage, c.Details)
			}
		}
		return nil
	})
	assert.NoError(t, err)
	return b.String()
}

// revisions are those of the protocol that toolhost has.
var revisions = []string{"2025-03-26", "2025-06-18", "2025-11-25", "2026-07-28"}

// The suite finds what it wants in toolhost, of which the fixtures are a plugin and a mounted
// MCP server. Each revision has a toolhost of its own: the SDK's server, which is mounted, forgets
// who wants to hear of changed lists when a subscription to a resource ends on the connection.
func TestServer(t *testing.T) {
	t.Parallel()
	modules(t)
	for _, revision := range revisions { //nolint:paralleltest // each takes the whole machine
		t.Run(revision, func(t *testing.T) {
			front := newProxy(t)
			w := newWorld(t, suiteConfig(t)+"mcp:\n  origins: ["+front.origin()+"]\n  tasks: "+mcptest.TaskConfig+"\n", fixtures)
			runSuite(t, "server", revision, "--url", front.start(t, w.serve()))
		})
	}
}

// suiteConfig mounts the server, and gives its tools the names by which the suite calls them.
func suiteConfig(t *testing.T) string {
	t.Helper()
	self := require.Must(os.Executable())(t)
	var b strings.Builder
	fmt.Fprintf(&b, "mcp_servers:\n  %s:\n    command: %q\n    args: [%q]\n    questions: {sampling: true}\ntools:\n", mcptest.Everything, self, serveFlag)
	fmt.Fprintf(&b, "  %s.mcp.read: {approval: allow} # templates, too\n", mcptest.Everything)
	for _, name := range mcptest.ServerTools() {
		fmt.Fprintf(&b, "  %s.%s: {rename: %s, safety: safe}\n", mcptest.Everything, name, name)
	}
	return b.String()
}

// The suite's own servers find what they want in a host that mounts them.
func TestClient(t *testing.T) {
	t.Parallel()
	modules(t)
	self := require.Must(os.Executable())(t)
	for _, revision := range revisions { //nolint:paralleltest // each takes the whole machine
		t.Run(revision, func(t *testing.T) { runSuite(t, "client", revision, "--command", self) })
	}
}
