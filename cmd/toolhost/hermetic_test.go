package main

import (
	"fmt"
	"os"
	"path/filepath"
	"sync"
	"testing"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// own is where commands that run in the process of the tests have their state, as long as one does.
var own struct {
	sync.Mutex
	dir   string
	users int
}

// What runs in the process of the tests goes by flags: nothing of the user's is read or written.
func init() {
	own.dir = filepath.Join(os.TempDir(), fmt.Sprintf("toolhost-test-%d", os.Getpid()))
	for _, kv := range [][2]string{
		{"XDG_STATE_HOME", filepath.Join(own.dir, "state")}, {"XDG_DATA_HOME", filepath.Join(own.dir, "data")},
		{session.CacheVariable, session.Off}, {session.AuditVariable, session.Off},
		{session.ConfigVariable, ""}, {session.PluginDirVariable, ""}, {session.InstallVariable, ""},
	} {
		_ = os.Setenv(kv[0], kv[1])
	}
}

// usesOwn keeps the state until the test ends.
func usesOwn(t *testing.T) {
	own.Lock()
	defer own.Unlock()
	own.users++
	t.Cleanup(func() {
		own.Lock()
		defer own.Unlock()
		if own.users--; own.users == 0 {
			_ = os.RemoveAll(own.dir)
		}
	})
}
