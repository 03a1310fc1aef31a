package pluginrun

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
