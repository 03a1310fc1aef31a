package main

import (
	"runtime"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/cmd/toolhost/internal/control"
	"github.com/toolhost/toolhost/cmd/toolhost/internal/session"
	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/wire"
)

// build describes this program.
type build struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Revision string `json:"revision,omitempty"` // with + if there are changes on top of it
}

func newVersionCommand(s *session.Session) *cobra.Command {
	return &cobra.Command{
		Use: "version", Short: "Show the version, as --version does", Hidden: true, Args: noArguments,
		RunE: func(*cobra.Command, []string) error { return printVersion(s) },
	}
}

func printVersion(s *session.Session) error {
	b := thisBuild()
	if s.Flags.JSON {
		return s.Out.JSON(b)
	}
	s.Out.Printf("toolhost %s (plugin protocol %d, %s, %s/%s)\n", b.Version, b.Protocol, b.Go, b.OS, b.Arch)
	if b.Revision != "" {
		s.Out.Printf("revision %s\n", b.Revision)
	}
	return nil
}

func thisBuild() build {
	return build{
		Version: host.Version, Protocol: wire.ProtocolVersion,
		Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, Revision: control.Revision(),
	}
}
