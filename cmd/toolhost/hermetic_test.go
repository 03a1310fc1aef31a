package main

import (
	"os"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
)

// What runs in the process of the tests goes by flags: nothing of the user's is read, and nothing can be
// written where it would be.
func init() {
	for _, kv := range [][2]string{
		{"XDG_STATE_HOME", "/nonexistent/state"}, {"XDG_DATA_HOME", "/nonexistent/data"}, {session.CacheVariable, session.Off},
		{session.ConfigVariable, ""}, {session.PluginDirVariable, ""}, {session.AuditVariable, session.Off}, {session.InstallVariable, ""},
	} {
		_ = os.Setenv(kv[0], kv[1])
	}
}
