package languages

import (
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// typescriptVariable names the directory into which make languages has put TypeScript.
const typescriptVariable = "TOOLHOST_TYPESCRIPT"

// The types of toolhost.mjs are sound, and tell an author of mistakes.
func TestNodeTypes(t *testing.T) {
	t.Parallel()
	typescript := os.Getenv(typescriptVariable)
	if typescript == "" {
		t.Skip("needs TypeScript: run make languages")
	}
	check := func(p project) (string, error) {
		cmd := exec.CommandContext(t.Context(), filepath.Join(typescript, ".bin/tsc"), //nolint:gosec // of this test
			"--noEmit", "--allowJs", "--checkJs", "--strict", "--skipLibCheck", "--target", "es2022", "--lib", "es2023",
			"--module", "nodenext", "--types", "node", "plugin.mjs")
		cmd.Dir = p.dir
		out, err := cmd.CombinedOutput()
		return string(out), err
	}
	if missing := needsNode(); missing != "" {
		t.Skip("needs " + missing)
	}
	p := prepared(t, "node", name)
	if out, err := check(p); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
	file := filepath.Join(p.dir, "plugin.mjs")
	right := string(require.Must(os.ReadFile(file))(t))
	for from, to := range map[string]string{
		`"cautious"`: `"careful"`, "needs:": "need:", "preview: (": "preview: 1, p: (",
	} {
		wrong := strings.Replace(right, from, to, 1)
		require.NoError(t, os.WriteFile(file, []byte(wrong), 0o600))
		if out, err := check(p); err == nil || wrong == right {
			t.Errorf("%s in place of %s passes\n%s", to, from, out)
		}
	}
}

// What authors get wrong is the error of their call and leaves the plugin running; what is large, or
// comes in pieces, arrives whole.
func TestNodeEdges(t *testing.T) {
	t.Parallel()
	p := built(t, "node", "edges", "testdata/node/plugin.mjs")
	for _, over := range []plugin.Carrier{plugin.Stream, plugin.Socket} {
		t.Run(string(over), func(t *testing.T) { t.Parallel(); nodeEdges(t, filepath.Join(p.dir, "bin"), over) })
	}
	t.Run("refuses its configuration", func(t *testing.T) {
		t.Parallel()
		h := require.Must(host.New(host.WithPluginSettings(func(_ string, s *plugin.Settings) {
			s.Config, s.StartTimeout = []byte(`{"refuse":true}`), ceiling
		})))(t)
		defer func() { _ = h.Close(context.Background()) }()
		_, err := h.Load(t.Context(), filepath.Join(p.dir, "bin"))
		assert.ErrorContains(t, err, "configured to refuse")
	})
}

func nodeEdges(t *testing.T, plugins string, over plugin.Carrier) {
	var log logbook
	root := t.TempDir()
	guarded, kept := filepath.Join(root, ".toolhost/new"), filepath.Join(root, ".toolhost/kept")
	require.NoError(t, os.Mkdir(filepath.Dir(guarded), 0o700))
	require.NoError(t, os.Symlink(".toolhost/new", filepath.Join(root, "link")))
	require.NoError(t, os.WriteFile(kept, nil, 0o600))
	require.NoError(t, os.Link(kept, filepath.Join(root, "other name")))
	h := open(t, plugins, root, host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})),
		host.WithProtected(guarded, kept), host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Carrier = over }))
	s := h.Session()
	call := func(name, arguments string) string {
		return take(t, s, tool.Call{Name: name, Arguments: []byte(arguments)})
	}

	got := call("length", `{"text":"`+strings.Repeat("x", 8<<20)+`"}`)
	assert.Containsf(t, got, `structured {"length":8388608}`, "a call of 8 MiB")
	var large sync.WaitGroup
	for range 3 {
		large.Go(func() {
			if got := call("long", `{"n":2000000}`); got != "text "+strings.Repeat("é", 2_000_000) {
				t.Errorf("a result of 4 MB has %d bytes: %.200s", len(got), got)
			}
		})
	}
	large.Wait()
	if got := call("long", `{"n":40000000}`); !strings.HasPrefix(got, "error resource_exhausted: ") {
		t.Errorf("a result of 80 MB: %.200s", got)
	}
	whole := strings.Repeat("é😀界", 20_000) + "\uFFFD"
	got = call("written", `{"n":20000}`)
	deltas, text, _ := strings.Cut(got, "\ntext ")
	if text != whole || !strings.HasPrefix(whole, strings.TrimPrefix(deltas, "deltas ")) || len(deltas) < 64<<10 {
		t.Errorf("a text in pieces: %d bytes, and %d of deltas", len(text), len(deltas))
	}
	res, err := s.Execute(t.Context(), tool.Call{Name: "image"})
	if image, ok := res.Content[0].(tool.ImageContent); err != nil || !ok || string(image.Data) != "abc" || !res.IsError {
		t.Errorf("an image: %+v, %v", res, err)
	}
	for name, want := range map[string]string{
		"misfit": "object expected", "circular": "circular structure", "thrown": "null", "coded": "no code",
	} {
		got := call(name, "{}")
		if !strings.HasPrefix(got, "error tool_failed: tool "+name+" execution failed: ") || !strings.Contains(got, want) {
			t.Errorf("%s: %s", name, got)
		}
	}
	for _, path := range []string{guarded, guarded + ".1", filepath.Dir(guarded), "link", "other name"} {
		if got := call("guarded", `{"text":"`+path+`"}`); !strings.HasPrefix(got, "error permission_denied: ") {
			t.Errorf("%s: %s", path, got)
		}
	}
	assert.Equalf(t, call("guarded", `{"text":"NOTES.md"}`), "", "NOTES.md")
	if _, err := os.Stat("/proc/self/fd"); err == nil {
		assert.Equalf(t, call("descriptors", "{}"), "text 0 1 2 3", "a child of the plugin has the descriptors")
	}
	answer := host.CallOptions{Asker: func(context.Context, tool.Question) (tool.Answer, error) {
		return tool.Answer{Action: tool.Accept, Content: []byte(`{"size":"m"}`)}, nil
	}}
	if _, res, err := s.CallWith(t.Context(), tool.Call{Name: "form"}, answer); err != nil || res.Text() != "m" {
		t.Errorf("a form: %q, %v", res.Text(), err)
	}
	for range 3 { // sessions, of which the plugin keeps two
		_, _ = h.Session().Execute(t.Context(), tool.Call{Name: "turn"})
	}
	log.awaits(t, "dropped after 1")
	if status := h.Plugins()[0]; status.Carrier != over || status.Starts != 1 {
		t.Errorf("its calls travel by %s, and it was started %d times", status.Carrier, status.Starts)
	}
	call("sicken", `{"text":"it has a cold"}`)
	log.awaits(t, "not well")
	log.awaits(t, "degraded: it has a cold")
	require.NoError(t, h.Close(context.Background()))
	log.awaits(t, "finished")
}
