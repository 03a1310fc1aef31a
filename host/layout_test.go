package host_test

import (
	"encoding/json"
	"fmt"
	"io"
	"os/exec"
	"path"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
)

const module = "github.com/toolhost/toolhost/"

// mayImport says which folders of the module the code below a folder may import,
// besides its own. The longest folder that fits counts; [floors] says more of two of
// them. docs/decisions.md tells why the arrows point down.
var mayImport = map[string][]string{
	"proto":               {},
	"internal":            {"pluginsdk/tool"},
	"internal/callctx":    {},
	"internal/callstage":  {},
	"internal/durable":    {"host", "pluginsdk/tool", "internal"},
	"internal/embedded":   {"host/fleet", "pluginsdk/tool", "internal"},
	"internal/grant":      {},
	"internal/pluginrun":  {"host/plugin", "pluginsdk/tool", "internal"},
	"internal/ident":      {},
	"internal/mcpmeta":    {"internal/sanitize"},
	"internal/sanitize":   {},
	"internal/textstream": {},
	"internal/release":    {"host"}, // a program that only the build runs
	"internal/test":       {"host", "pluginsdk", "internal"},
	"internal/wire":       {"pluginsdk/tool", "proto", "internal"},
	"pluginsdk/tool": {
		"internal/callctx", "internal/callstage", "internal/grant", "internal/ident", "internal/mcpmeta", "internal/sanitize", "internal/textstream",
	},
	"pluginsdk/tooltest": {"pluginsdk/tool", "internal"},
	"pluginsdk":          {"pluginsdk/tool", "internal"},
	"host":               {"pluginsdk", "internal"},
	"plugins":            {"pluginsdk", "internal"},
	"cmd":                {"host", "pluginsdk", "internal"},
	"examples":           {"host", "pluginsdk"},

	// It looks at what a plugin sends before anything has read it.
	"cmd/toolhost/internal/verify": {"host", "pluginsdk", "internal", "proto"},
	// The API of the daemon, and who speaks it.
	"cmd/toolhost": {"host", "pluginsdk", "internal", "proto"},
}

// floors has the packages of a room, the ground floor first. A package imports those of the floors below
// its own, and none of its own floor.
var floors = map[string][][]string{
	"host": {
		{"policy"},
		// Vocabulary, and what stands alone.
		{
			"audit", "llmschema", "internal/checked", "internal/listed", "internal/search", "plugin",
			"fleet/internal/link",
		},
		{"internal/chain", "internal/manifest"},
		{"internal/kept"},
		{"internal/roster"},
		{""}, // host itself
		{"task", "internal/mcpwire", "internal/mcpline"},
		{"fleet", "mcpserver", "mcpclient"}, // ways to a host from elsewhere
	},
	"cmd/toolhost": {
		{
			"internal/collect", "internal/exit", "internal/paths", "internal/crowd", "internal/approval", "internal/token", "internal/mcpstdio",
			"internal/activity", "internal/pack", "internal/scaffold", "internal/verify", "internal/auditindex",
		},
		{"internal/output", "internal/toggle", "internal/control"},
		{"internal/arguments", "internal/terminal", "internal/view", "internal/metrics", "internal/config"},
		{"internal/servers", "internal/mcphttp", "internal/pins", "internal/reference", "internal/connect", "internal/telemetry", "internal/console"},
		{"internal/setup"},
		{"internal/session"},
		{"internal/daemon", "internal/doctor", "internal/installer"}, // what a daemon serves is a session
		{"internal/dev"},
		{""}, // the commands
	},
}

// place returns the room of a package that has floors, and its floor; -1 if it is on none.
func place(pkg string) (room string, floor int) {
	for room, all := range floors {
		if below(pkg, room) {
			name := strings.TrimPrefix(strings.TrimPrefix(pkg, room), "/")
			return room, slices.IndexFunc(all, func(f []string) bool { return slices.Contains(f, name) })
		}
	}
	return "", -1
}

func TestImportsPointDown(t *testing.T) {
	t.Parallel()
	binaries.Sources(t, "./...")
	cmd := exec.CommandContext(t.Context(), "go", "list", "-json=ImportPath,Imports", module+"...")
	out := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	found := map[string]bool{}
	for dec := json.NewDecoder(out); ; {
		var p struct {
			ImportPath string
			Imports    []string
		}
		if err := dec.Decode(&p); err == io.EOF {
			break
		} else if err != nil {
			t.Fatal(err)
		}
		pkg := strings.TrimPrefix(p.ImportPath, module)
		found[pkg] = true
		for _, up := range arrowsUp(pkg, p.Imports) {
			t.Error(up)
		}
	}
	if err := cmd.Wait(); err != nil {
		t.Errorf("go list: %v", err)
	}
	for room, all := range floors {
		for _, name := range slices.Concat(all...) {
			if pkg := path.Join(room, name); !found[pkg] {
				t.Errorf("floors has %s, which there is not", pkg)
			}
		}
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
	room, floor := place(pkg)
	if room != "" && floor < 0 {
		return []string{pkg + " is on no floor of " + room + ": say which"}
	}
	var out []string
	for _, imp := range imports {
		dep, ours := strings.CutPrefix(imp, module)
		if !ours {
			continue
		}
		if in, under := place(dep); in != "" && in == room && under >= floor {
			out = append(out, fmt.Sprintf("%s imports %s, which is not on a floor below it", pkg, dep))
		}
		if below(dep, folder) {
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
		{"host", "pluginsdk/tool", true}, {"host/internal/chain", "host/policy", true}, {"pluginsdk/tool", "internal/wire", false},
		{"pluginsdk", "host", false}, {"host", "cmd/toolhost", false}, {"plugins/fs", "host", false}, {"host", "proto/toolhost/plugin/v1", false},
		{"internal/test/soak", "host", true}, {"host", "internal/test/soak", false}, {"internal/schema", "host", false},
		{"elsewhere", "host", false},
		{"host", "host/plugin", true}, {"host/plugin", "host", false}, {"host/audit", "host/policy", true}, {"host/policy", "host/audit", false}, {"host/elsewhere", "fmt", false},
		{"host/mcpserver", "host/policy", true}, {"host/mcpserver", "host/mcpclient", false},
		{"cmd/toolhost/internal/session", "cmd/toolhost/internal/setup", true}, {"cmd/toolhost/internal/setup", "cmd/toolhost/internal/session", false},
		{"cmd/toolhost/internal/session", "cmd/toolhost/internal/daemon", false}, {"cmd/toolhost/internal/control", "cmd/toolhost/internal/session", false},
	} {
		if up := arrowsUp(c.pkg, []string{module + c.imp}); (len(up) == 0) != c.ok {
			t.Errorf("%s imports %s: found %q", c.pkg, c.imp, up)
		}
	}
}
