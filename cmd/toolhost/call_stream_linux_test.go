package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/exit"
	"github.com/toolhost/toolhost/internal/test/assert"
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
			assert.Equalf(t, at.sees("that was it\r\n"), "\r\nthat was it\r\n", "after the text the person sees")
			assert.NoError(t, cmd.Wait())

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

// How far a call is shows on the terminal of standard error, also by a daemon, in one line that is gone in the
// end; elsewhere, and with --json, nothing of it does.
func TestCallReports(t *testing.T) {
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
			line := []string{"call", "play.hold", "--arg", "fifo=" + begun, "--arg", "until=" + source, "--arg", "report=true",
				"--plugin-dir", w.plugins}
			person, program := newTerminal(t)
			at := screen{t, person}
			cmd := w.command(line...)
			cmd.Stdout, cmd.Stderr = program, program
			to := w.source(cmd, begun, source)
			require.Must(to.WriteString("the first\n"))(t)
			at.sees("25% the first")
			require.Must(to.WriteString("the \x1b[2J second\n"))(t)
			equal(t, "what the person sees", at.sees("second"), "\r\x1b[K50% the \\x1b[2J second")
			require.NoError(t, to.Close())
			equal(t, "what follows", at.sees("that was it"), "\r\x1b[Kthat was it")
			require.NoError(t, cmd.Wait())

			for _, to := range []string{"--json", "a file"} {
				cmd := w.command(append(line, "--log-level=off")...)
				out := require.Must(os.Create(filepath.Join(w.root, "out")))(t)
				cmd.Stdout, cmd.Stderr = out, program
				if to == "--json" {
					cmd.Args = append(cmd.Args, "--json")
				} else {
					cmd.Stderr = out
				}
				from := w.source(cmd, begun, source)
				require.Must(from.WriteString("unseen\n"))(t)
				require.NoError(t, from.Close())
				require.NoError(t, cmd.Wait())
				if text := read(t, out.Name()); strings.Contains(text, "unseen") || !strings.Contains(text, "that was it") {
					t.Errorf("to %s: %q", to, text)
				}
				require.Must(program.WriteString("end"))(t)
				equal(t, "what is left on the terminal", strings.TrimSpace(at.sees("end")), "end")
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
