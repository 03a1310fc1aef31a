package plugin

import (
	"errors"
	"fmt"
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

// namespaces returns those that a process gets on this system.
//
// # Errors
//
// For [NamespaceOn], if it gets none; for [NamespaceAuto], if that cannot be found out for now.
func namespaces(n Namespace) (confine.Namespaces, error) {
	if n == NamespaceOff {
		return confine.NoNamespace, nil
	}
	err := confine.PIDNamespace.Check()
	switch {
	case err == nil:
		return confine.PIDNamespace, nil
	case !confine.Impossible(err):
		return confine.NoNamespace, notConfined(err)
	case n != NamespaceOn:
		return confine.NoNamespace, nil
	}
	if err := confine.UserNamespace.Check(); err != nil {
		err = fmt.Errorf("a PID namespace is required and not available (see toolhost doctor): %w", err)
		return confine.NoNamespace, notConfined(err)
	}
	return confine.UserNamespace, nil
}

// notConfined is the error of a start for want of something that confines the process. What was found
// possible on this system is never done without: the start fails, and is tried again as others are.
func notConfined(err error) error {
	reason := "it is not started without its sandbox, which cannot be made now: " + err.Error()
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EUSERS) {
		reason += " (if that is namespaces, this user has no more, user.max_*_namespaces: end what holds them, " +
			"or, where it never has any, set namespace: off)"
	}
	return &startFailure{reason, err}
}
