// Command fs is the plugin that reads, writes, lists and searches files in the
// workspace.
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
	current := &workspace.Current{}
	pluginsdk.Plugin{
		Name: "fs", Version: "0.1.0",
		Tools:        tools(current),
		ConfigSchema: workspace.ConfigSchema, Configure: current.Configure,
		Needs: &tool.Needs{Write: []string{tool.Workspace}},
	}.Main()
}

// tools returns the tools of the plugin. They work in the workspace that is current
// when they are called.
func tools(current *workspace.Current) []tool.Tool {
	return []tool.Tool{
		readTool(current), listTool(current), searchTool(current), statTool(current),
		writeTool(current), editTool(current), moveTool(current), deleteTool(current), mkdirTool(current),
	}
}

// Keywords of the schema of a path.
const (
	filePath = `{"pattern": "^[^/].*$", "errorMessage": "paths are relative to the workspace and not empty"}`
	dirPath  = `{"pattern": "^([^/].*)?$", "default": ".", "errorMessage": "paths are relative to the workspace"}`
)
