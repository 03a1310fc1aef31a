package wire

import (
	"bufio"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// childVariable makes this test's binary a process that inherits a socket.
const childVariable = "TOOLHOST_TEST_INHERITED"

// TestInheritedChild is that process.
func TestInheritedChild(t *testing.T) { //nolint:paralleltest // it is alone
	switch os.Getenv(childVariable) {
	case "":
		t.Skip("run by TestInherited")
	case "grandchild":
		fmt.Println("sockets: " + strings.Join(sockets(t), " ") + " variable: " + os.Getenv(SocketVariable))
		return
	}
	c, err := Inherited()
	again, againErr := Inherited()
	fmt.Printf("error: %v, again: %v %v, variable: %q\n", err, again, againErr, os.Getenv(SocketVariable))
	if c == nil {
		return
	}
	self := exec.Command(os.Args[0], "-test.run=^TestInheritedChild$") //nolint:noctx // it prints and ends
	self.Env = append(os.Environ(), childVariable+"=grandchild")
	out, err := self.CombinedOutput()
	fmt.Printf("grandchild: %v %s\n", err, out)
	// It ends with the carrier.
	_ = (&Server{Provider: handlers{"echo": echo}}).Serve(t.Context(), c)
}

// sockets returns the process's file descriptors that are sockets.
func sockets(t *testing.T) (out []string) {
	t.Helper()
	links := require.Must(filepath.Glob("/proc/self/fd/*"))(t)
	for _, l := range links {
		if to, err := os.Readlink(l); err == nil && strings.HasPrefix(to, "socket:") {
			out = append(out, filepath.Base(l))
		}
	}
	return out
}

// child runs the process with files from descriptor 3 on, and returns a scanner of its
// output.
func child(t *testing.T, variable string, files ...*os.File) (cmd *exec.Cmd, lines *bufio.Scanner) {
	t.Helper()
	cmd = exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestInheritedChild$", "-test.v")
	cmd.Env = append(os.Environ(), childVariable+"=child")
	if variable != "" {
		cmd.Env = append(cmd.Env, SocketVariable+"="+variable)
	}
	cmd.ExtraFiles = files
	cmd.Stderr = os.Stderr
	out := require.Must(cmd.StdoutPipe())(t)
	require.NoError(t, cmd.Start())
	return cmd, bufio.NewScanner(out)
}

func lineWith(t *testing.T, lines *bufio.Scanner, start string) string {
	t.Helper()
	for lines.Scan() {
		if strings.HasPrefix(lines.Text(), start) {
			return lines.Text()
		}
	}
	t.Fatalf("the process says nothing that starts with %q", start)
	return ""
}

// A process gets its socket once, and its children inherit nothing.
func TestInherited(t *testing.T) {
	t.Parallel()
	a, b := socketPair(t)
	theirs := require.Must(b.(*net.UnixConn).File())(t)
	cmd, lines := child(t, "3", theirs)
	_, _ = theirs.Close(), b.Close()
	assert.Equal(t, lineWith(t, lines, "error: "), `error: <nil>, again: <nil> <nil>, variable: ""`)
	if got := lineWith(t, lines, "grandchild: "); !strings.HasPrefix(got, "grandchild: <nil> sockets:  variable: ") ||
		strings.HasSuffix(got, "3") {
		t.Errorf("what the process starts inherits: %s", got)
	}
	s := NewStream(NewSocket(a), StreamHooks{})
	wantText(t, within(t, "a call", begin(t.Context(), s, tool.Call{Name: "echo", Arguments: []byte("on")})), "on")
	_ = s.Close()
	if err := cmd.Wait(); err != nil {
		t.Errorf("the process ended with %v", err)
	}
}

// A descriptor that is not a socket gives an error, once, rather than a panic.
func TestInheritedNothing(t *testing.T) {
	t.Parallel()
	file := require.Must(os.Open(os.DevNull))(t)
	defer func() { _ = file.Close() }()
	for variable, want := range map[string]string{
		"": "error: <nil>, again: <nil> <nil>", "x": "is not a descriptor", "-1": "is not a descriptor",
		"0": "is not a descriptor",
		"2": "is not a descriptor", " 3": "is not a descriptor", "99999999999999999999": "is not a descriptor",
		"77": `="77" is not a socket`, "3": `="3" is not a socket`,
	} {
		cmd, lines := child(t, variable, file)
		got := lineWith(t, lines, "error: ")
		if !strings.Contains(got, want) || !strings.HasSuffix(got, `again: <nil> <nil>, variable: ""`) {
			t.Errorf("%q: %s, want ...%s...", variable, got, want)
		}
		for lines.Scan() { // to its end
		}
		if err := cmd.Wait(); err != nil {
			t.Errorf("%q: the process ended with %v", variable, err)
		}
	}
}
