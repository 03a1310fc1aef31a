package plugin

import "github.com/toolhost/toolhost/internal/confine"

// Adopt makes this process the parent of each process below it that loses its own
// (PR_SET_CHILD_SUBREAPER(2const)), so that nothing that a plugin starts gets away from its host. From
// then on this process reaps the orphans of plugins, and ends those of runs that have ended. It leaves alone
// what it has started for something else, and what that leaves: if that ends, it stays as a zombie until this
// process ends. The toolhost command calls it before it loads plugins; programs that embed the
// host decide for themselves. Without it, what plugins leave is found by the limit of file locks that a
// host gives them, wherever it is.
//
// # Errors
//
// The system's; [errors.ErrUnsupported] on systems other than Linux.
func Adopt() error { return confine.Adopt() }

// Conceal keeps other processes of this user, plugins among them, from reading this
// process's environment and memory and from tracing it (PR_SET_DUMPABLE(2const),
// ptrace(2)). It also disables core dumps. The toolhost command calls it before it loads
// plugins; programs that embed the host decide for themselves. It does not work together
// with [NamespaceOn] for users other than root, as the files through which a namespace is
// set up can no longer be opened.
//
// # Errors
//
// The system's; [errors.ErrUnsupported] on systems other than Linux.
func Conceal() error { return confine.Conceal() }
