package plugin

import (
	"errors"
	"syscall"

	"github.com/toolhost/toolhost/internal/confine"
)

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

// resolve returns the namespaces that a process gets on this system.
//
// # Errors
//
// For [NamespaceOn], if it gets none.
func (n Namespace) resolve() (confine.Namespaces, error) {
	switch {
	case n == NamespaceOff:
		return confine.NoNamespace, nil
	case confine.PIDNamespace.Check() == nil:
		return confine.PIDNamespace, nil
	case n != NamespaceOn:
		return confine.NoNamespace, nil
	}
	return confine.UserNamespace, confine.UserNamespace.Check()
}

// isOptional reports whether a start that failed because there are too many namespaces at
// the moment may be repeated without one.
func (n Namespace) isOptional(err error) bool {
	return n != NamespaceOn && (errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EUSERS))
}
