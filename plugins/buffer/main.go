// Command buffer is the plugin that reads, searches and edits text files as an
// editor's buffers: a call that does not name a buffer means the file that its
// session last worked with.
//
// Every path is confined to the directory that the host hands over. Package
// workspace documents how, and what is not confined.
package main

import (
	"github.com/toolhost/toolhost/plugins/internal/workspace"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func main() {
	b := newBuffers()
	pluginsdk.Plugin{
		Name: "buffer", Version: "0.1.0",
		Tools:         b.tools(),
		KeepsSessions: true,
		ConfigSchema:  workspace.ConfigSchema, Configure: b.current.Configure,
		Needs: &tool.Needs{Write: []string{tool.Workspace}},
	}.Main()
}

// buffers is what the tools share: the workspace, and the file that each session
// last worked with.
type buffers struct {
	current *workspace.Current
	last    *recent
}

func newBuffers() *buffers {
	return &buffers{current: &workspace.Current{}, last: newRecent(maxSessions)}
}

// tools returns the tools of the plugin. They work in the workspace that is current
// when they are called.
func (b *buffers) tools() []tool.Tool {
	return []tool.Tool{b.readFileTool(), b.readBufferTool(), b.searchTool(), b.writeTool(), b.proposeTool()}
}

// Keywords of paths.
const (
	filePath   = `{"pattern": "^[^/].*$", "errorMessage": "paths are relative to the workspace and not empty"}`
	bufferPath = `{"pattern": "^([^/].*)?$", "errorMessage": "paths are relative to the workspace"}`
)
