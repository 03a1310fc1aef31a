package languages

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/internal/test/snippets"
)

// The author's page is all that an author in Python or Node needs, from an empty home on: each of its commands
// succeeds with what its table says of the language. For Go the page's own test runs it.
func TestAuthorsPage(t *testing.T) {
	t.Parallel()
	page := string(require.Must(os.ReadFile("../../../docs/tutorials/author.md"))(t))
	inEach(t, func(t *testing.T, language string, _ project) {
		if language == "go" {
			t.Skip("TestSnippets runs it")
		}
		_, row, _ := strings.Cut(strings.ToLower(page), "\n| "+language+" | ")
		row, _, _ = strings.Cut(row, "\n")
		cells := strings.Split(row, "`")
		flag, source := cells[len(cells)-4], cells[len(cells)-2]
		u := newUser(t, t.TempDir())
		script := "set -e\n"
		if language == "node" { // what npm ci would get from the network
			script += "make() { ln -sfn \"$" + modulesVariable + "\" node_modules; command make -o node_modules \"$@\"; }\n"
			u.env = append(u.env, modulesVariable+"="+os.Getenv(modulesVariable))
		}
		for _, b := range require.Must(snippets.Read(page))(t) {
			if b.Language == "sh" && b.NoRun == "" {
				script += b.Text
			}
		}
		script = strings.NewReplacer("--toolhost v0.1.0", flag, "main.go", source).Replace(script)
		script += "rm \"$XDG_DATA_HOME\"/toolhost/installed.lock\ntoolhost plugins lock --yes\ntoolhost call weather.add --arg text=last --grant fs:write\n"
		cmd := exec.CommandContext(t.Context(), "bash", "-c", script) //nolint:gosec // of the page
		cmd.Dir = u.cwd
		cmd.Env = slices.Concat(u.env, []string{"HOME=" + t.TempDir(), "PATH=" + filepath.Dir(command(t)) + ":" + os.Getenv("PATH")})
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%v\n%s\n%s", err, script, out)
		}
	})
}
