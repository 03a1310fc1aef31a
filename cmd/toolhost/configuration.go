package main

import "github.com/spf13/cobra"

// reads says what a command does with the configuration file before it runs. A command that is not marked has
// the mark of the one above it; without any, the file is not read: those that check it have to run with an invalid
// one, and the demo shows the host's own defaults.
type reads string

const (
	// itself: the command goes by the file, daemon or not, and fails with its error.
	itself reads = "itself"
	// orDaemon: while the file cannot be used, the command goes by a daemon that runs with it.
	orDaemon reads = "or daemon"

	readsKey = "configuration"
)

// mark marks commands.
func (r reads) mark(commands ...*cobra.Command) []*cobra.Command {
	for _, c := range commands {
		c.Annotations = map[string]string{readsKey: string(r)}
	}
	return commands
}

// readsOf returns the mark that counts for a command.
func readsOf(cmd *cobra.Command) reads {
	for ; cmd != nil; cmd = cmd.Parent() {
		if r, ok := cmd.Annotations[readsKey]; ok {
			return reads(r)
		}
	}
	return ""
}
