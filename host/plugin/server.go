package plugin

// Server is something that serves tools and that a [Connector] reaches, such as an MCP server.
type Server struct {
	// Name is its name as a plugin: ^[A-Za-z0-9][A-Za-z0-9_.-]{0,63}$. Required.
	Name string
	// Connector reaches it. Required.
	Connector Connector
	// Identity says what is reached, such as a command line or a URL, without the values of
	// secrets: what a server has said is remembered, and pinned, under its identity.
	// Required.
	Identity string
	// Revision changes with what the identity leaves out, such as the value of a secret.
	// Default: empty.
	Revision string
	// Path is what an operator is shown of it where a plugin has its file, such as a command
	// or a URL, without secrets. Default: the path of the Connector's Command.
	Path string
	// Kind is what an operator is told that it is. Default: mcp.
	Kind string
	// Settings is what the operator decides. Args and Config are those of plugins' binaries.
	// In host.Host.Mount, the zero value means the settings of all plugins.
	Settings Settings
}
