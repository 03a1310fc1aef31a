package main

import (
	"bytes"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// newFIFO is the path of a new FIFO. Opening it for reading waits for a writer.
func newFIFO(t *testing.T) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), "fifo")
	require.NoError(t, syscall.Mkfifo(path, 0o600))
	return path
}

func TestCallTimeout(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player")
	w.run("call", "play.wait", "--arg", "fifo="+newFIFO(t), "--timeout", "50ms").exits(7).says("play.wait")
}

func TestSignalEndsACall(t *testing.T) {
	t.Parallel()
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player", "fs")
			fifo := newFIFO(t)
			cmd := w.command("call", "play.wait", "--arg", "fifo="+fifo, "--json", "--plugin-dir", w.plugins)
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			require.NoError(t, cmd.Start())
			started := require.Must(os.Open(fifo))(t) // the call is under way
			defer func() { _ = started.Close() }()
			require.NoError(t, cmd.Process.Signal(sig))
			var failed *exec.ExitError
			if err := cmd.Wait(); !errors.As(err, &failed) {
				t.Fatalf("it ended with %v", err)
			}
			o := outcome{t, cmd.Args, stdout.String(), stderr.String(), failed.ExitCode()}
			var out host.Outcome
			o.exits(7).json(&out)
			equal(t, "the code", out.Error.Code, tool.CodeCanceled)
		})
	}
}

// A reader that has had enough must not keep the plugins from being shut down.
func TestReaderGoesAway(t *testing.T) {
	t.Parallel()
	w := newWorld(t, "player", "fs")
	cmd := w.command("tools", "--json", "--plugin-dir", w.plugins)
	r, out, err := os.Pipe()
	require.NoError(t, err)
	_ = r.Close()
	var stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = out, &stderr
	err = cmd.Run()
	_ = out.Close()
	if err != nil || strings.Contains(stderr.String(), "toolhost:") {
		t.Errorf("it ends with %v and says %s", err, &stderr)
	}
}
