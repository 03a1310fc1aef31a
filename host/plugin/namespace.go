package plugin

// Namespace says whether a plugin gets a PID namespace of its own (Linux). When the first
// process of a namespace ends, or the host does, the kernel ends all others in it,
// whatever they did to get away, and they can signal no process outside. The plugin has
// process number 1 in it.
type Namespace string

// The choices.
const (
	// NamespaceAuto uses one if the host may create one as it is: as root, or with
	// CAP_SYS_ADMIN.
	NamespaceAuto Namespace = "auto"
	// NamespaceOn always uses one, if necessary with a user namespace. That has no other
	// user, so sudo does not work in the plugin. A start fails if neither is possible.
	NamespaceOn Namespace = "on"
	// NamespaceOff uses none.
	NamespaceOff Namespace = "off"
)
