package worktest_test

import (
	"context"
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// ceiling bounds a piece of work, on a machine that is busy.
const ceiling = 5 * time.Minute

// worker is a plugin that runs programs, and declares what it is told to.
const worker plugintest.Mode = "worker"

// needsVariable tells it what, as the JSON of [tool.Needs]; empty: it declares nothing.
const needsVariable = "WORKTEST_NEEDS"

// atEnd are called after all tests.
var atEnd []func()

func TestMain(m *testing.M) {
	plugintest.Become(map[plugintest.Mode]func(){worker: work, stock: beStock})
	code := m.Run()
	for _, f := range atEnd {
		f()
	}
	os.Exit(code)
}

func work() {
	p := pluginsdk.Plugin{Name: string(worker), Tools: []tool.Tool{
		pluginsdk.Func("run", "Runs a program.", runProgram, pluginsdk.Safe()),
		pluginsdk.Func("serve", "Serves HTTP and asks for a page.", serve, pluginsdk.Safe()),
		pluginsdk.Func("get", "Asks for a page.", get, pluginsdk.Safe()),
	}}
	if text := os.Getenv(needsVariable); text != "" {
		if err := json.Unmarshal([]byte(text), &p.Needs); err != nil {
			panic(err)
		}
	}
	p.Main()
}

// program is what the worker runs, in the workspace.
type program struct {
	Line []string `json:"line"`
	Env  []string `json:"env,omitempty"`
	In   string   `json:"in,omitempty"`
}

// ran is what became of it.
type ran struct {
	Out    string `json:"out"` // and its errors
	Failed string `json:"failed,omitempty"`
}

func runProgram(ctx context.Context, p program) (ran, error) {
	cmd := exec.CommandContext(ctx, p.Line[0], p.Line[1:]...)
	cmd.Env, cmd.Stdin = append(os.Environ(), p.Env...), strings.NewReader(p.In)
	out, err := cmd.CombinedOutput()
	r := ran{Out: string(out)}
	if err != nil {
		r.Failed = errors.Join(err, ctx.Err()).Error()
	}
	return r, nil
}
