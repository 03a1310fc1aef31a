package host_test

import (
	"archive/zip"
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// firstSDK is the source of the first SDK, whole, with a plugin that uses all of it.
// The archive never changes: what was built with it runs on every later host.
const firstSDK = "testdata/first-sdk.zip"

// buildFirst builds the plugin, as its author once did, into a plugin directory.
func buildFirst(t *testing.T) string {
	t.Helper()
	src, dir := t.TempDir(), t.TempDir()
	archive := require.Must(zip.OpenReader(firstSDK))(t)
	require.NoError(t, errors.Join(os.CopyFS(src, archive), archive.Close()))
	build := exec.CommandContext(t.Context(), "go", "build", "-o", filepath.Join(dir, "first"), "./plugin")
	build.Dir = src
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("go build: %v\n%s", err, out)
	}
	return dir
}

// A plugin that was built with the first SDK keeps working, on every carrier.
func TestFirstSDK(t *testing.T) {
	if testing.Short() {
		t.Skip("builds the first SDK, which takes 20 s of processors: .ci/long runs it")
	}
	t.Parallel()
	dir := buildFirst(t)
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Socket, plugin.Unary} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			useFirst(t, dir, carrier)
		})
	}
}

func useFirst(t *testing.T, dir string, carrier plugin.Carrier) {
	root := t.TempDir()
	h := newHost(t, host.WithRoot(root), host.WithDefaults(func(all *plugin.Settings) {
		all.Carrier = carrier
	}), host.WithPluginSettings(func(_ string, s *plugin.Settings) {
		s.Config = []byte(`{"greeting":"hello"}`)
	}))
	if n, err := h.Load(t.Context(), dir); err != nil || n != 12 {
		t.Fatalf("%d tools, %v", n, err)
	}
	if s := h.Plugins()[0]; s.State != plugin.Ready || s.Carrier != carrier || s.Version != "0.0.1" {
		t.Errorf("%s on %s, version %s", s.State, s.Carrier, s.Version)
	}
	var shown string
	s := h.Session(host.WithGrants("first:sum"), host.WithApprover(policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
		preview, err := r.Preview(ctx)
		shown = preview.Text()
		return policy.Decision{Verdict: policy.Allow}, err
	})))
	execute := func(name, arguments string) (tool.Result, error) {
		return s.Execute(t.Context(), tool.Call{Name: name, Arguments: []byte(arguments)})
	}
	for _, c := range []struct{ tool, arguments, want string }{
		{"first.echo", `{"text":"ä\u0000"}`, "ä\x00"},
		{"first.config", `{}`, `{"greeting":"hello"}`},
		{"first.session", `{}`, "1"},
		{"first.session", `{}`, "2"},
		{"first.large", `{"bytes":5000000}`, strings.Repeat("x", 5_000_000)},
		{"first.write", `{"text":"it"}`, "written"},
		{"first.progress", `{}`, "done"},
	} {
		if res, err := execute(c.tool, c.arguments); err != nil || res.IsError || res.Text() != c.want {
			t.Errorf("%s: %.100q, %v", c.tool, res.Text(), err)
		}
	}
	assert.Equalf(t, shown, "FIRST will hold it", "preview")
	if res, err := execute("first.sum", `{"text":"abc"}`); err != nil || string(res.Structured) != `{"characters":3,"upper":"ABC"}` {
		t.Errorf("first.sum: %s, %v", res.Structured, err)
	}
	if res, err := execute("first.fail", `{"text":"on purpose"}`); err != nil || !res.IsError || !strings.Contains(res.Text(), "on purpose") {
		t.Errorf("first.fail: %+v, %v", res, err)
	}
	for name, code := range map[string]tool.Code{"first.coded": tool.CodeResourceExhausted, "first.exit": tool.CodeCrashed, "first.none": tool.CodeNotFound} {
		if _, err := execute(name, `{}`); tool.CodeOf(err) != code {
			t.Errorf("%s: %v, want %s", name, err, code)
		}
	}
	if res, err := execute("first.panic", `{}`); err == nil && !res.IsError {
		t.Errorf("first.panic: %+v", res)
	}
	cancelFirst(t, s, root)
	if carrier == plugin.Unary {
		return
	}
	var reports int
	ctx := tool.WithProgress(t.Context(), func(tool.Progress) { reports++ })
	if _, err := s.Execute(ctx, tool.Call{Name: "first.progress"}); err != nil || reports == 0 {
		t.Errorf("first.progress: %d reports, %v", reports, err)
	}
}

// cancelFirst cancels a call that the plugin is running, and waits until it has noticed.
func cancelFirst(t *testing.T, s *host.Session, root string) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	ended := make(chan error, 1)
	go func() {
		_, err := s.Execute(ctx, tool.Call{Name: "first.wait", Arguments: []byte(`{"text":"it "}`)})
		ended <- err
	}()
	require.Eventually(t, "the plugin runs it", func() bool { return exists(filepath.Join(root, "it STARTED")) })
	cancel()
	if err := <-ended; tool.CodeOf(err) != tool.CodeCanceled {
		t.Errorf("first.wait: %v", err)
	}
	require.Eventually(t, "the plugin notices", func() bool { return exists(filepath.Join(root, "it CANCELLED")) })
}

func exists(path string) bool {
	_, err := os.Stat(path)
	return err == nil
}
