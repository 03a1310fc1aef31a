package control

import (
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// State is a daemon at one moment.
type State struct {
	Version string `json:"version"`
	PID     int    `json:"pid"`
	// Since is when it began to serve.
	Since    time.Time `json:"since"`
	Identity Identity  `json:"identity"`
	// Draining says that it takes no more calls.
	Draining bool `json:"draining,omitempty"`
	// Calls counts those under way over the socket.
	Calls int `json:"calls"`
	// Tools counts the tools.
	Tools   int             `json:"tools"`
	Plugins []plugin.Status `json:"plugins"`
	Skipped []Skipped       `json:"skipped,omitempty"`
	// Faults are why plugins, tools and directories cannot be used.
	Faults []Problem `json:"faults,omitempty"`
}

// Skipped is an entry of a plugin directory that is no plugin, and why.
type Skipped struct {
	Path   string `json:"path"`
	Reason string `json:"reason"`
}

// Problems are faults as they travel.
func Problems(faults []*tool.Error) []Problem {
	var out []Problem
	for _, f := range faults {
		out = append(out, *problemOf(f))
	}
	return out
}

// listed is a tool as it travels: what its plugin claims is beside it.
type listed struct {
	host.Tool
	Claimed tool.Definition `json:"claimed"`
}

func listOf(tools []host.Tool) []listed {
	out := make([]listed, len(tools))
	for i, t := range tools {
		out[i] = listed{t, t.Claimed}
	}
	return out
}

func toolsOf(list []listed) []host.Tool {
	out := make([]host.Tool, len(list))
	for i, l := range list {
		out[i] = l.Tool
		out[i].Claimed = l.Claimed
	}
	return out
}
