package host_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
)

const module = "github.com/toolhost/toolhost/"

// mayImport says which folders of the module the code below a folder may import,
// besides its own. The longest folder that fits counts. docs/decisions.md tells
// why the arrows point down.
var mayImport = map[string][]string{
	"proto":               {},
	"internal":            {"pluginsdk/tool"},
	"internal/callctx":    {},
	"internal/grant":      {},
	"internal/sanitize":   {},
	"internal/textstream": {},
	"internal/release":    {"host"}, // a program that only the build runs
	"internal/test":       {"host", "pluginsdk", "internal"},
	"pluginsdk/tool":      {"internal/callctx", "internal/grant", "internal/sanitize", "internal/textstream"},
	"pluginsdk/wire":      {"pluginsdk/tool", "proto", "internal"},
	"pluginsdk/tooltest":  {"pluginsdk/tool", "internal"},
	"pluginsdk":           {"pluginsdk/tool", "pluginsdk/wire", "internal"},
	"host":                {"pluginsdk", "internal"},
	"plugins":             {"pluginsdk", "internal"},
	"cmd":                 {"host", "pluginsdk", "internal"},
	"examples":            {"host", "pluginsdk"},

	// It looks at what a plugin sends before anything has read it.
	"cmd/toolhost/internal/verify": {"host", "pluginsdk", "internal", "proto"},
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	binaries.Sources(t, "./...")
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"...")
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	packages := 0
	for dec := json.NewDecoder(out); ; packages++ {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		for _, up := range arrowsUp(strings.TrimPrefix(p.ImportPath, module), p.Imports) {
			t.Error(up)
		}
	}
	if err := cmd.Wait(); err != nil || packages < 10 {
		t.Errorf("go list: %v, %d packages", err, packages)
	}
}

// arrowsUp are the imports of a package that it may not have.
func arrowsUp(pkg string, imports []string) []string {
	folder := ""
	for f := range mayImport {
		if below(pkg, f) && len(f) > len(folder) {
			folder = f
		}
	}
	if folder == "" {
		return []string{pkg + " is in no folder that mayImport knows: say what it may import"}
	}
	var out []string
	for _, imp := range imports {
		dep, ours := strings.CutPrefix(imp, module)
		if !ours || below(dep, folder) {
			continue
		}
		if below(dep, "internal/test") {
			out = append(out, fmt.Sprintf("%s imports %s, which only tests may import", pkg, dep))
		}
		if !slices.ContainsFunc(mayImport[folder], func(f string) bool { return below(dep, f) }) {
			out = append(out, fmt.Sprintf("%s imports %s: %s may import only %v", pkg, dep, folder, mayImport[folder]))
		}
	}
	return out
}

func below(pkg, folder string) bool { return pkg == folder || strings.HasPrefix(pkg, folder+"/") }

// The check itself has to be able to fail.
func TestArrowsUp(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		pkg, imp string
		ok       bool
	}{
		{"host", "pluginsdk/tool", true}, {"host/plugin", "host/policy", true}, {"pluginsdk/tool", "pluginsdk/wire", false},
		{"pluginsdk", "host", false}, {"host", "cmd/toolhost", false}, {"plugins/fs", "host", false}, {"host", "proto/toolhost/plugin/v1", false},
		{"internal/test/soak", "host", true}, {"host", "internal/test/soak", false}, {"internal/schema", "host", false},
		{"elsewhere", "host", false},
	} {
		if up := arrowsUp(c.pkg, []string{module + c.imp}); (len(up) == 0) != c.ok {
			t.Errorf("%s imports %s: found %q", c.pkg, c.imp, up)
		}
	}
}
