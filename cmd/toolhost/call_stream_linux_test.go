package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What a tool streams is on the terminal as it comes, also by a daemon. Elsewhere it is printed once,
// with the result.
func TestCallStreams(t *testing.T) {
	t.Parallel()
	for _, by := range []string{"alone", "by a daemon"} {
		t.Run(by, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, "player")
			if by != "alone" {
				w.serve()
			}
			begun, source := filepath.Join(w.root, "begun"), filepath.Join(w.root, "source")
			for _, fifo := range []string{begun, source} {
				require.NoError(t, syscall.Mkfifo(fifo, 0o600))
			}
			line := []string{"call", "play.hold", "--arg", "fifo=" + begun, "--arg", "until=" + source, "--arg", "stream=true",
				"--plugin-dir", w.plugins}
			person, program := newTerminal(t)
			cmd := w.command(line...)
			cmd.Stdout, cmd.Stderr = program, program
			to := w.source(cmd, begun, source)
			at := screen{t, person}
			for _, text := range []string{"first line\n", "half a li", "ne, \x1b[2J and é\n", "the end"} {
				require.Must(to.WriteString(text))(t)
				switch text {
				case "first line\n":
					at.sees("first line\r\n")
				case "ne, \x1b[2J and é\n":
					at.sees(`ne, \x1b[2J and é`)
				default:
					at.sees(text)
				}
			}
			require.NoError(t, to.Close())
			if seen := at.sees("that was it\r\n"); seen != "\r\nthat was it\r\n" {
				t.Errorf("after the text the person sees %q", seen)
			}
			if err := cmd.Wait(); err != nil {
				t.Error(err)
			}

			for _, flag := range []string{"--json", "--log-level=error"} {
				u := w.startCall(newFIFO(t), "call", "play.hold", "--arg", "until="+source, "--arg", "stream=true", flag)
				require.NoError(t, os.WriteFile(source, []byte("all of it"), 0o600))
				o := (<-u.ended).exits(exit.Done)
				if flag == "--json" {
					o.prints(`"content": "all of it\nthat was it"`)
				} else {
					equal(t, "what is printed", o.stdout, "all of it\nthat was it")
				}
			}
		})
	}
}

// source starts a command whose tool reads a FIFO, and returns what writes to that.
func (w *world) source(cmd *exec.Cmd, begun, source string) *os.File {
	w.t.Helper()
	require.NoError(w.t, cmd.Start())
	b := openFIFO(w.t, begun, os.O_RDONLY, nil)
	to := openFIFO(w.t, source, os.O_WRONLY, nil)
	require.NoError(w.t, b.Close())
	w.t.Cleanup(func() { _ = to.Close() })
	return to
}
