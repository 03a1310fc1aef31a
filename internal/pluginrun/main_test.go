package pluginrun_test

import (
	"context"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ownModes are plugins that only these tests have.
var ownModes = map[plugintest.Mode]func(){}

func TestMain(m *testing.M) { plugintest.Main(m, ownModes) }

// ceiling bounds what should take milliseconds, on a machine that is busy.
const ceiling = 30 * time.Second

// open is one plugin of a mode, closed with the test.
func open(t *testing.T, mode plugintest.Mode, change ...func(*pluginrun.Config)) *pluginrun.Plugin {
	t.Helper()
	dir := plugintest.Dir(t, mode)
	found, skipped, err := pluginrun.Discover(dir)
	if err != nil || len(found) != 1 {
		t.Fatalf("Discover: %v, skipped %v, error %v", found, skipped, err)
	}
	cfg := pluginrun.Config{Root: t.TempDir(), TempDir: socketDir(t), Logger: hclog.NewNullLogger(), Settings: plugin.Settings{StartTimeout: ceiling}}
	for _, f := range change {
		f(&cfg)
	}
	p := pluginrun.New(found[0], cfg)
	t.Cleanup(func() {
		if err := p.Close(context.Background()); err != nil {
			t.Errorf("Close: %v", err)
		}
	})
	return p
}

// call runs a tool and fails the test where it does not answer.
func call(t *testing.T, p tool.Provider, name, args string) tool.Result {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), ceiling)
	defer cancel()
	res, err := p.Execute(ctx, tool.Call{ID: "test", Name: name, Arguments: []byte(args)})
	if err != nil {
		t.Fatalf("%s: %v", name, err)
	}
	return res
}
