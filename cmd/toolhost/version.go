package main

import (
	"runtime"
	"runtime/debug"

	"github.com/spf13/cobra"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/wire"
)

// build says what this program is.
type build struct {
	Version  string `json:"version"`
	Protocol int    `json:"protocol"`
	Go       string `json:"go"`
	OS       string `json:"os"`
	Arch     string `json:"arch"`
	Revision string `json:"revision,omitempty"`
	Modified bool   `json:"modified,omitempty"` // with changes on top of the revision
}

func (a *app) versionCommand() *cobra.Command {
	return &cobra.Command{
		Use:   "version",
		Short: "Show the version, and that of the plugin protocol",
		Args:  noArguments,
		RunE: func(*cobra.Command, []string) error {
			b := thisBuild()
			if a.json {
				return a.out.json(b)
			}
			a.out.printf("toolhost %s (plugin protocol %d, %s, %s/%s)\n", b.Version, b.Protocol, b.Go, b.OS, b.Arch)
			if b.Revision != "" {
				a.out.printf("revision %s%s\n", b.Revision, map[bool]string{true: ", with changes"}[b.Modified])
			}
			return nil
		},
	}
}

func thisBuild() build {
	b := build{Version: host.Version, Protocol: wire.ProtocolVersion, Go: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH}
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return b
	}
	for _, s := range info.Settings {
		switch s.Key {
		case "vcs.revision":
			b.Revision = s.Value
		case "vcs.modified":
			b.Modified = s.Value == "true"
		}
	}
	return b
}
