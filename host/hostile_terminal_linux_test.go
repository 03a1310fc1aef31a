package host_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A plugin of a host that was started on a terminal has no part in it: it cannot open
// /dev/tty, nor put what a person might have typed into the terminal's input.
func TestHostileTerminal(t *testing.T) {
	t.Parallel()
	person, program := newTerminal(t)
	h := newOtherHost(t, plugintest.Dir(t, hostile.Usurper))
	require.NoError(t, os.WriteFile(filepath.Join(h.root, hostile.TerminalFile), []byte(program.Name()), 0o600))
	h.ExtraFiles = []*os.File{program}
	h.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Setctty: true, Ctty: 3}
	h.begin(t)

	var did hostile.Usurped
	if err := json.Unmarshal([]byte(h.Result), &did); err != nil {
		t.Fatalf("the host says %+v", h.told)
	}
	if len(did.Done) > 0 {
		t.Errorf("the plugin could do this: %q", did.Done)
	}
	if !slices.Contains(did.Failed, "open /dev/tty: "+unix.ENXIO.Error()) {
		t.Errorf("/dev/tty is there: %q", did.Failed)
	}
	if !slices.ContainsFunc(did.Failed, func(s string) bool {
		return strings.HasPrefix(s, "TIOCSTI on the terminal by its name") || strings.HasPrefix(s, "open the terminal by its name")
	}) {
		t.Errorf("it did not try the terminal: %q", did.Failed)
	}
	if n, err := unix.IoctlGetInt(int(program.Fd()), unix.TIOCINQ); n != 0 || err != nil {
		t.Errorf("%d bytes were typed that no person typed (%v)", n, err)
	}
	if n, err := unix.IoctlGetInt(int(person.Fd()), unix.TIOCINQ); n != 0 || err != nil {
		t.Errorf("%d bytes are on the screen (%v)", n, err)
	}
}

// newTerminal is a pseudo terminal: the side of the person, and that of the program.
func newTerminal(t *testing.T) (person, program *os.File) {
	t.Helper()
	person, err := os.OpenFile("/dev/ptmx", os.O_RDWR|unix.O_NOCTTY, 0)
	if err != nil {
		t.Skipf("no pseudo terminals here: %v", err)
	}
	t.Cleanup(func() { _ = person.Close() })
	require.NoError(t, unix.IoctlSetPointerInt(int(person.Fd()), unix.TIOCSPTLCK, 0))
	n := require.Must(unix.IoctlGetInt(int(person.Fd()), unix.TIOCGPTN))(t)
	program = require.Must(os.OpenFile(fmt.Sprintf("/dev/pts/%d", n), os.O_RDWR|unix.O_NOCTTY, 0))(t)
	t.Cleanup(func() { _ = program.Close() })
	return person, program
}
