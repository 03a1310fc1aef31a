package control

import (
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/ident"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// State is a daemon at one moment.
type State struct {
	Version string `json:"version"`
	// Revision is that of the program's source; empty: it is not known.
	Revision string `json:"revision,omitempty"`
	PID      int    `json:"pid"`
	// Since is when the daemon began to serve.
	Since    time.Time `json:"since"`
	Identity Identity  `json:"identity"`
	// Configured are the settings in Identity that come from its configuration: root and
	// plugin_dirs.
	Configured []string `json:"configured,omitempty"`
	// Unapplied is the digest of content of its configuration that it could not apply; empty: none.
	Unapplied string `json:"unapplied,omitempty"`
	// Audit is the file in which calls are recorded; empty: they are not.
	Audit string `json:"audit,omitempty"`
	// Logs is the directory of the files with what plugins write and what happens to them; empty: there are none, or
	// they cannot be written.
	Logs string `json:"logs,omitempty"`
	// Starting reports whether plugins are started for the first time: what needs all of them waits for that.
	Starting bool `json:"starting,omitempty"`
	// Draining reports whether the daemon is ending and accepts no more calls.
	Draining bool `json:"draining,omitempty"`
	// Calls counts the calls in progress: over the socket, of MCP clients, and of other hosts.
	Calls int `json:"calls"`
	// Refused are the callers that are refused calls, as they or all together have too many in progress.
	Refused []host.Refused `json:"refused,omitempty"`
	// Approvals counts the questions in the queue.
	Approvals int `json:"approvals"`
	// Tools counts the tools.
	Tools   int              `json:"tools"`
	Plugins []plugin.Status  `json:"plugins"`
	Skipped []plugin.Skipped `json:"skipped,omitempty"`
	// Leaving are processes of plugins that were replaced or withdrawn, whose calls may end.
	Leaving []plugin.Status `json:"leaving,omitempty"`
	// Fleet is the daemon's part in a fleet; nil: it has none.
	Fleet *FleetState `json:"fleet,omitempty"`
	// Faults say why plugins, tools and directories cannot be used.
	Faults []*tool.Error `json:"faults,omitempty"`
}

// FleetState is a daemon's part in a fleet.
type FleetState struct {
	Name string `json:"name"`
	// Server is where the NATS server is, without what looks like a secret.
	Server string `json:"server"`
	// State is that of the host itself; Reason says why it is not ready.
	State  fleet.HostState `json:"state"`
	Reason string          `json:"reason,omitempty"`
	// Hosts counts the others that are known, and Refused those that are not used.
	Hosts   int `json:"hosts"`
	Refused int `json:"refused"`
	// Tools counts the mounted tools, and Calls the calls in progress on other hosts.
	Tools int `json:"tools"`
	Calls int `json:"calls"`
	// Queue is that of durable calls; nil: no rule is durable, and no other host has made one.
	Queue *fleet.QueueStatus `json:"queue,omitempty"`
}

// Reached reports whether the host is in its fleet.
func (f *FleetState) Reached() bool {
	return f.State == fleet.HostReady || f.State == fleet.HostDraining
}

// Waiting is a file inside the root that the daemon goes by, with other content than is in effect.
type Waiting struct {
	File   string `json:"file"`
	SHA256 string `json:"sha256"`
	// Difference are the lines that differ from what is in effect, for people.
	Difference []string `json:"difference"`
}

// SessionInfo is a named session of a daemon.
type SessionInfo struct {
	Caller string `json:"caller"`
	Name   string `json:"name"`
	// ID is what plugins and the audit log know the session by.
	ID string `json:"id"`
	// Began and Used are when its first and its newest call came.
	Began time.Time `json:"began"`
	Used  time.Time `json:"used"`
	// Calls counts the calls in progress.
	Calls int `json:"calls"`
	// Plugins keep state for the session.
	Plugins []string `json:"plugins"`
}

// CheckSession checks the name of a session.
//
// # Errors
//
// [tool.CodeInvalidArguments] for anything but 1 to 64 letters, digits, _, . and -, of which the
// first is a letter or digit.
func CheckSession(name string) error {
	if ident.Valid(name) {
		return nil
	}
	return tool.Errorf(tool.CodeInvalidArguments,
		"a session's name has 1 to 64 letters, digits, _, . and -, and begins with a letter or digit").
		Try("name the session such as work-1")
}
