//go:build unix

package plugin

func unixProtections() []Protection {
	return []Protection{
		{"unix socket", true, "plugins are reached in a private directory only"},
		{"socket pair", true, "calls can travel on a connection that nobody else can reach"},
		{"closed descriptors", true, "a plugin inherits no descriptor of the host but its end of the socket pair"},
		{"process group", true, "what a plugin starts is killed with it"},
	}
}
