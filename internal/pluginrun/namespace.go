package pluginrun

import (
	"errors"
	"fmt"
	"syscall"

	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/confine"
	"github.com/toolhost/toolhost/internal/remedy"
)

// namespaces returns those that a process gets on this system.
//
// # Errors
//
// For [plugin.NamespaceOn], if it gets none; for [plugin.NamespaceAuto], if that cannot be found out for now.
func namespaces(n plugin.Namespace) (confine.Namespaces, error) {
	if n == plugin.NamespaceOff {
		return confine.NoNamespace, nil
	}
	err := confine.PIDNamespace.Check()
	switch {
	case err == nil:
		return confine.PIDNamespace, nil
	case !confine.Impossible(err):
		return confine.NoNamespace, notConfined(err)
	case n != plugin.NamespaceOn:
		return confine.NoNamespace, nil
	}
	if err := confine.UserNamespace.Check(); err != nil {
		err = fmt.Errorf("a PID namespace is required and not available (%s): %w", remedy.Namespaces, err)
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
