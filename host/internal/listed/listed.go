// Package listed is the tools of a session as its host keeps them, for lists that are made of them again and
// again. What programs outside of this module are given is copies.
package listed

import (
	"iter"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Tool is a tool of a host. Its definition never changes, and has no alias.
type Tool struct {
	Def     *tool.Definition
	Alias   string
	Owner   string
	Claimed string // the name that its owner gave it
	Own     bool   // it is one of the host's own
}

// List is what a session lists at one moment, before it is looked at what it sees.
type List struct {
	At  any               // what the tools are of: the same one as long as none of them changes
	All iter.Seq[Tool]    // of the host, sorted by name
	Own []tool.Definition // in place of all, if there are any: a caller that searches has these
}

// Handle keeps a session's list from programs outside of this module. The zero value is of nothing.
type Handle struct{ of func() List }

// HandleOf returns a handle.
func HandleOf(of func() List) Handle { return Handle{of} }

func (h Handle) list() List { return h.of() }

// Of returns the list of a session.
func Of(s interface{ list() List }) List { return s.list() }
