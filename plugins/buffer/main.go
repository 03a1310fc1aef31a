// Command buffer is the plugin that reads, searches and edits text files as an
// editor's buffers: a session that names no buffer means the file that it last
// worked with.
//
// Every path is confined to the directory that the host hands over; package
// workspace says how, and where that ends.
package main

import (
	"context"

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
		Configure:     func(_ context.Context, c pluginsdk.Config) error { return b.current.Set(c.Root, c.Protected...) },
	}.Main()
}

// buffers are what the tools share: the workspace, and which file each session
// last worked with.
type buffers struct {
	current *workspace.Current
	last    *recent
}

func newBuffers() *buffers {
	return &buffers{current: &workspace.Current{}, last: newRecent(maxSessions)}
}

// tools are all tools of the plugin. They work in what is current when they are
// called.
func (b *buffers) tools() []tool.Tool {
	return []tool.Tool{b.readFileTool(), b.readBufferTool(), b.searchTool(), b.writeTool(), b.proposeTool()}
}

// Keywords of paths.
const (
	filePath   = `{"pattern": "^[^/].*$"}`
	bufferPath = `{"pattern": "^([^/].*)?$"}`
)
