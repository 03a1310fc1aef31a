package binaries

import (
	"bufio"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// others is a module of its own: what its programs require, other modules need not when they
// require this one.
const others = "internal/test/others/"

// Others starts a program of others' code that tests compare with or talk to, and returns its input
// and output. It ends when its input does, at the latest with the test.
func Others(t testing.TB, name string) (io.Writer, *bufio.Reader) {
	t.Helper()
	cmd := exec.Command(filepath.Join(Build(t, others+name), executable(name))) //nolint:noctx // it ends with its input
	cmd.Stderr = os.Stderr
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		if err := cmd.Wait(); err != nil {
			t.Errorf("%s: %v", name, err)
		}
	})
	return in, bufio.NewReader(out)
}
