package safefile

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// A lease of another process, which this one stands for, is not waited for until the kernel takes it away,
// and who has it is named.
func TestOpenLeased(t *testing.T) {
	t.Parallel()
	path := filepath.Join(t.TempDir(), "toolhost.yaml")
	require.NoError(t, os.WriteFile(path, []byte("x"), 0o600))
	held := require.Must(os.Open(path))(t)
	defer func() { _ = held.Close() }()
	lease := func(kind int) error {
		_, err := unix.FcntlInt(held.Fd(), unix.F_SETLEASE, kind)
		return err
	}
	if err := lease(unix.F_WRLCK); err != nil {
		t.Skip("no leases here: ", err)
	}
	start := time.Now()
	for name, open := range map[string]func() (*os.File, os.FileInfo, error){
		"Open":       func() (*os.File, os.FileInfo, error) { return Open(path, os.O_RDONLY) },
		"OpenTarget": func() (*os.File, os.FileInfo, error) { return OpenTarget(path) },
	} {
		f, _, err := open()
		if err == nil {
			_ = f.Close()
		}
		if want := fmt.Sprintf("process %d keeps a lease", os.Getpid()); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %q", name, err, want)
		}
	}
	if took := time.Since(start); took > 20*leaseGrace {
		t.Errorf("it took %v", took)
	}
	// One that is given up, as by a file server, is only waited for.
	given := make(chan error, 1)
	time.AfterFunc(leaseGrace/8, func() { given <- lease(unix.F_UNLCK) })
	f, _, err := OpenTarget(path)
	require.NoError(t, err)
	assert.NoError(t, <-given)
	_ = f.Close()
}
