//go:build !unix

package plugin

func systemProtections() []Protection {
	return []Protection{
		{"unix socket", false, "plugins listen on loopback TCP, which other users of this machine can reach"},
		{"socket pair", false, "calls travel on the stream"},
		{"closed descriptors", true, "only what is named is inherited on this system"},
		{"process group", false, "what a plugin starts is not ended with it"},
		{"concealment", false, "only Linux has it; plugins run as the same user, who may read this process's memory"},
		{"parent-death signal", false, "only Linux has it; a plugin that does not notice that its host was killed lives on"},
		{"PID namespace", false, "only Linux has them"},
		{"sweep", false, "only on Linux; what a killed host left is not found"},
	}
}
