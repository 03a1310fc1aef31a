package languages

import (
	"context"
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/hashicorp/go-hclog"
	"golang.org/x/sync/errgroup"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// toolhost.py keeps to its own tests and to its types.
func TestPythonLibrary(t *testing.T) {
	t.Parallel()
	p := built(t, "python", "ten", "testdata/python/plugin.py")
	python := func(dir, env string, args ...string) {
		cmd := exec.CommandContext(t.Context(), args[0], args[1:]...) //nolint:gosec // of this test
		cmd.Dir, cmd.Env = dir, append(os.Environ(), "PYTHONDONTWRITEBYTECODE=1", env)
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Errorf("%s: %v\n%s", cmd, err, out)
		}
	}
	tests := require.Must(filepath.Abs("testdata/python"))(t)
	python(tests, "PYTHONPATH="+filepath.Join(p.dir, "build"), "/usr/bin/python3", "-m", "unittest", "test_toolhost")
	t.Run("types", func(t *testing.T) {
		if missing := needsPrograms("mypy"); missing != "" {
			t.Skip("needs Debian's mypy, as .ci/run installs it: " + missing)
		}
		python(p.dir, "MYPY_CACHE_DIR="+t.TempDir(), "make", "types")
	})
}

// A host gets long texts as they come, large results in parts, and answers to forms; calls overlap, and the plugin
// ends as it wants to.
func TestPython(t *testing.T) {
	t.Parallel()
	plugins := filepath.Join(built(t, "python", "ten", "testdata/python/plugin.py").dir, "bin")
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Socket} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			var log logbook
			t.Cleanup(func() { log.awaits(t, "ended well") }) // after the host was closed
			h := open(t, plugins, t.TempDir(), host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})),
				host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Carrier = carrier }))
			s := h.Session(host.WithResultLimit(0))
			var shown string
			_, res, err := s.CallWith(t.Context(), tool.Call{Name: "story", Arguments: []byte(`{"pieces":500}`)}, host.CallOptions{
				Deltas: func(d tool.Delta) { shown += d.Text },
			})
			if want := strings.Repeat("é", 250_000); err != nil || shown != want || res.Text() != want {
				t.Errorf("a text of %d bytes, of which %d were shown, %v", len(res.Text()), len(shown), err)
			}
			for _, n := range []int{1, 65_000, 65_537, 1_000_000} {
				arguments := require.Must(json.Marshal(map[string]any{"characters": n}))(t)
				if res, err := s.Execute(t.Context(), tool.Call{Name: "big", Arguments: arguments}); err != nil || len(res.Text()) != 2*n {
					t.Errorf("%d characters: %d bytes, %v", n, len(res.Text()), err)
				}
			}
			text := require.Must(json.Marshal(map[string]any{"text": strings.Repeat("é", 3_000_000)}))(t)
			if res, err := s.Execute(t.Context(), tool.Call{Name: "length", Arguments: text}); err != nil || res.Text() != "3000000" {
				t.Errorf("a long argument: %s, %v", res.Text(), err)
			}
			_, res, err = s.CallWith(t.Context(), tool.Call{Name: "order"}, host.CallOptions{
				Asker: func(context.Context, tool.Question) (tool.Answer, error) {
					return tool.Answer{Action: tool.Accept, Content: []byte(`{"size":"m"}`)}, nil
				},
			})
			if err != nil || res.Text() != `{"action":"accept","size":"m"}` {
				t.Errorf("a form: %s, %v", res.Text(), err)
			}
			for _, name := range []string{"meet", "meet_threads"} {
				var calls errgroup.Group
				for range 64 {
					calls.Go(func() error {
						_, err := s.Execute(t.Context(), tool.Call{Name: name})
						return err
					})
				}
				if err := calls.Wait(); err != nil {
					t.Errorf("%s: %v", name, err)
				}
			}
			assert.Equalf(t, h.Plugins()[0].Carrier, carrier, "its calls travel by")
		})
	}
	t.Run("refused", func(t *testing.T) {
		t.Parallel()
		h := require.Must(host.New(host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Config = []byte(`{"region":"moon"}`) })))(t)
		defer func() { _ = h.Close(context.Background()) }()
		if _, err := h.Load(t.Context(), plugins); err == nil || !strings.Contains(err.Error(), "there is nothing on the moon") {
			t.Errorf("a configuration that it refuses: %v", err)
		}
	})
}
