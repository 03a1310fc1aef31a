package plugin

import (
	"fmt"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Namespace says whether a plugin gets a PID namespace of its own (Linux). When its
// first process ends, or the host does, the kernel ends all others in it, whatever
// they did to get away; and it can send signals to none outside. Inside, the
// plugin's process number is 1.
type Namespace string

// The choices.
const (
	// NamespaceAuto takes one where the host may make one as it is: as root, that is,
	// or with CAP_SYS_ADMIN.
	NamespaceAuto Namespace = "auto"
	// NamespaceOn takes one in any case, where needed with a user namespace, in which
	// there is no other user: sudo does not work in the plugin. A start fails where
	// that cannot be had.
	NamespaceOn Namespace = "on"
	// NamespaceOff takes none.
	NamespaceOff Namespace = "off"
)

// ParseNamespace reads a choice; empty: [NamespaceAuto].
//
// # Errors
//
// [tool.CodeInvalidArguments] for any other word.
func ParseNamespace(name string) (Namespace, error) {
	switch n := Namespace(name); n {
	case "":
		return NamespaceAuto, nil
	case NamespaceAuto, NamespaceOn, NamespaceOff:
		return n, nil
	}
	return "", &tool.Error{
		Code: tool.CodeInvalidArguments, Message: fmt.Sprintf("unknown choice %.40q for PID namespaces", name), Hint: "use auto, on or off",
	}
}
