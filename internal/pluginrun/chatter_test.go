package pluginrun_test

import (
	"context"
	"testing"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin that logs on its stream without end is slowed down, and the operator is
// told, on each carrier that has one.
func TestChatterIsSlowedDown(t *testing.T) {
	t.Parallel()
	for _, carrier := range []plugin.Carrier{plugin.Stream, plugin.Socket} {
		t.Run(string(carrier), func(t *testing.T) {
			t.Parallel()
			found, _, err := pluginrun.Discover(plugintest.Dir(t, plugintest.Crasher))
			require.NoError(t, err)
			p := pluginrun.New(found[0], pluginrun.Config{Root: t.TempDir(), TempDir: socketDir(t), Settings: plugin.Settings{StartTimeout: ceiling, Carrier: carrier}})
			t.Cleanup(func() { _ = p.Close(context.Background()) })
			ctx, cancel := context.WithTimeout(t.Context(), ceiling)
			ended := make(chan error, 1)
			go func() {
				_, err := p.Execute(ctx, tool.Call{Name: "crash.chatter"})
				ended <- err
			}()
			require.Eventually(t, "it is slowed down", func() bool { return p.Status().Output != "" })
			// It was the bytes that were too many: of lines, none is left out yet.
			if got, want := p.Status().Output, "the plugin writes too much, and is slowed down"; got != want {
				t.Errorf("the operator is told %q, want %q", got, want)
			}
			cancel()
			if err := <-ended; tool.CodeOf(err) != tool.CodeCanceled {
				t.Error(err)
			}
			call(t, p, "crash.pid", "{}") // it is none the worse for it
		})
	}
}
