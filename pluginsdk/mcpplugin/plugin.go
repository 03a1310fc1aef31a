// Package mcpplugin serves an MCP server, made with the official Go SDK
// (github.com/modelcontextprotocol/go-sdk), as a plugin: authors of both have one code base. Call
// [Main], in a program that also serves MCP by itself if [Hosted] says that no host started it.
//
// Tools, with their schemas, annotations, icons and "_meta", are the server's, and follow it when
// they change. What a handler reports, logs or asks through its [mcp.ServerSession] reaches the
// caller of the host, if it is given the handler's context; so do the functions of package tool.
// Each session of the host is an MCP session of the server. Prompts and resources are not
// served, and a host answers no sampling: mount the server in the host (mcp_servers) for those.
package mcpplugin

import (
	"context"
	"fmt"
	"os"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/wire"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Hosted reports whether a host started this process as a plugin, or TOOLHOST_DEBUG=1 has it be one
// for [pluginsdk.Plugin.Main], so that it has to call [Main].
func Hosted() bool {
	return os.Getenv(wire.CookieKey) == wire.CookieValue || os.Getenv(wire.DebugVariable) == "1"
}

// Main serves the tools of an MCP server to the host that started this process, and exits the
// process when the host no longer needs it, as [pluginsdk.Plugin.Main] does. See [Plugin].
func Main(server *mcp.Server, complete ...func(*tool.Definition)) {
	p, err := Plugin(server, complete...)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	p.Main()
}

// Plugin returns a plugin that serves the tools of an MCP server, for authors who set more of it
// before they call its Main, such as what its process needs. Its name and version are the
// server's, and its Set is taken.
//
// MCP has no capabilities that callers need, and its annotations are coarse: each function
// of complete may change a tool's definition before it is served. Its name must stay. The
// safety level that the annotations suggest is safe for a tool that only reads, cautious if that
// is said to deal with an open world, cautious for one that says that it destroys nothing, and
// else dangerous.
//
// The server gets middleware, and may still be connected to other clients.
//
// # Errors
//
// [tool.CodeInvalidDefinition] and [tool.CodeAlreadyExists] for tools that no plugin can serve,
// joined; [tool.CodeInternal] if the server does not take the connection.
func Plugin(server *mcp.Server, complete ...func(*tool.Definition)) (pluginsdk.Plugin, error) {
	b := newBridge(server, complete)
	ctx := context.Background()
	first, err := b.session(ctx, "")
	if err != nil {
		return pluginsdk.Plugin{}, tool.Errorf(tool.CodeInternal, "the MCP server does not take a connection: %w", err)
	}
	if err := b.update(ctx); err != nil {
		return pluginsdk.Plugin{}, err
	}
	info := first.session.InitializeResult().ServerInfo
	return pluginsdk.Plugin{Name: info.Name, Version: info.Version, Set: b.set}, nil
}
