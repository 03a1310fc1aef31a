// Command execution is a toolhost plugin that evaluates Go: expressions,
// statements and declarations, compiled by the real toolchain as a part of a
// package of the workspace, so that unexported names are in scope.
//
// Each tool is in the file of its name. A form goes through the packages below
// internal: form parses it, target finds its package, check resolves its names
// and types, program writes the source of the program, compile has the go command
// build it through an overlay, so that nothing is written into the workspace, and
// process runs it under limits. What a caller declares is kept by session, for
// the caller's session and the package.
//
// # What bounds a program
//
// Time, memory, processes, output and the size of files are bounded by [limits].
// On Linux a program runs in a PID namespace if one can be made, so that the kernel
// ends all of its processes with the first. Elsewhere its processes are found by
// their group and by a variable of their environment, which a program escapes that
// leaves the group and clears its environment. Processes are counted, and their
// memory is summed up, every 50 ms and on Linux only: a program that forks without
// end gets as far as it can in that time. macOS bounds time, output and the size of
// files.
//
// # What a program may do
//
// The plugin declares what it needs, and its host confines it to that. On Linux, with Landlock and
// seccomp, the program of a form is confined once more, whatever the plugin may do: it reads the
// workspace, Go's tree and the system's programs and libraries, writes to its own temporary
// directory, starts no program and has no sockets but its own. Elsewhere, with confine set to false,
// and for the programs of run_tests, it may do what the plugin may.
package main

import (
	"context"

	"github.com/toolhost/toolhost/plugins/execution/internal/gocmd"
	"github.com/toolhost/toolhost/plugins/execution/internal/process"
	"github.com/toolhost/toolhost/plugins/internal/gocache"
	"github.com/toolhost/toolhost/plugins/internal/gocode"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	process.BecomeProgram()
	gocache.Main()
	e := newEvaluator(&gocmd.Cache{})
	pluginsdk.Plugin{
		Name:         "execution",
		Version:      "0.1.0",
		Tools:        tools(e),
		ConfigSchema: configSchema(),
		Configure: func(_ context.Context, c pluginsdk.Config) error {
			gocache.Use()
			return e.configure(c)
		},
		SessionEnded: e.sessions.End,
		Needs: &tool.Needs{
			Read: []string{tool.Workspace, gocache.User}, Write: []string{tool.Cache},
			Exec: append(gocode.Toolchain(), tool.Cache), // what it builds
		},
		Processors: pluginsdk.AllProcessors, // several packages are type-checked at a time
	}.Main()
}

// tools returns the tools of the plugin.
func tools(e *evaluator) []tool.Tool {
	return []tool.Tool{
		evalForm(e), compileForm(e), checkPackage(e), runTests(e), getLastError(e), getHistory(e),
	}
}
