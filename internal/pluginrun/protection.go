package pluginrun

import (
	"fmt"
	"runtime"

	"github.com/toolhost/toolhost/internal/confine"
)

// Protection is one thing that keeps plugins from doing harm, and whether this system has
// it.
type Protection struct {
	Name      string `json:"name"`
	Available bool   `json:"available"`
	// Detail says what the protection does or, if it is not available, why, and what follows.
	Detail string `json:"detail"`
}

// Protections returns which protections this system has, always in the same order.
func Protections() []Protection {
	out := []Protection{
		{"own pipes", true, "output is read at a bounded rate, sanitised, and never parsed by go-plugin"},
		{"environment", true, "a plugin sees a short list of the host's variables and an empty standard input"},
		{"unix socket", true, "plugins are reached in a private directory only"},
		{"socket pair", true, "calls can travel on a connection that nothing else can reach"},
		{"closed descriptors", true, "a plugin inherits no descriptor of the host but its end of the socket pair"},
		{"process group", true, "what a plugin starts is killed with it"},
	}
	if runtime.GOOS == "linux" {
		return append(out,
			Protection{"parent-death signal", true, "the kernel kills a plugin whose host is gone, however it went"},
			concealment(), namespaceProtection(), sweepProtection())
	}
	return append(out, []Protection{
		{"parent-death signal", false, "only on Linux; a plugin that does not notice that its host was killed lives on"},
		{"concealment", false, "only on Linux; plugins run as the same user, who may read this process's memory"},
		{"PID namespace", false, "only on Linux; descendants that left the process group are not ended"},
		{"sweep", false, "only on Linux; what a killed host left is not found"},
	}...)
}

func concealment() Protection {
	p := Protection{"concealment", concealed(), "other processes of this user cannot read the host's environment and memory"}
	switch {
	case !p.Available:
		p.Detail = "this process did not ask for it; see plugin.Conceal"
	case privileged():
		p.Detail = "plugins cannot read the host's environment and memory; they are started without the rights over " +
			"other processes and the kernel that this user has (CAP_SYS_ADMIN, CAP_SYS_PTRACE and others)"
	}
	return p
}

func namespaceProtection() Protection {
	const otherwise = "descendants that left the process group are found by their environment"
	err := confine.PIDNamespace.Check()
	p := Protection{Name: "PID namespace", Available: err == nil}
	switch {
	case err == nil:
		p.Detail = "the kernel kills all that a plugin started when the plugin or the host ends; " +
			"a plugin can signal no other process"
	case !confine.Impossible(err):
		p.Detail = fmt.Sprintf("it cannot be found out now: %v; until then no plugin is started", err)
	case confine.UserNamespace.Check() == nil:
		p.Detail = fmt.Sprintf("not as this user (%v), but with a user namespace, if PID namespaces are switched on; "+
			"until then %s", err, otherwise)
	default:
		p.Detail = fmt.Sprintf("%v; %s", err, otherwise)
	}
	return p
}

func sweepProtection() Protection {
	p := Protection{"sweep", true, "processes and socket directories of a host that was killed are found by the next one"}
	if err := confine.CheckSweep(); err != nil {
		p.Available = false
		p.Detail = fmt.Sprintf("%v; descendants that left the process group, and what a killed host left, are not found", err)
	}
	return p
}
