package session

import (
	"fmt"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
)

// Scope is what a session has declared in one package.
type Scope struct {
	Declarations []*form.Declaration
	Imports      map[string]string // name to path
	Blank        []string          // packages imported for their effects
}

// Bounds of what a session declares.
const (
	maxScopes = 16
	maxKept   = 256 << 10 // bytes
)

// Scope returns what was declared in a package.
func (s *Session) Scope(pkg string) *Scope {
	if found := s.scopes[pkg]; found != nil {
		return found
	}
	return &Scope{Imports: map[string]string{}}
}

// SetScope replaces what was declared in a package, if there is room for it.
func (s *Session) SetScope(pkg string, scope *Scope) error {
	size := scope.size()
	for name, other := range s.scopes {
		if name != pkg {
			size += other.size()
		}
	}
	if size > maxKept || s.scopes[pkg] == nil && len(s.scopes) >= maxScopes {
		return fmt.Errorf("the session has no room for more declarations (it may keep %d bytes in %d packages); "+
			"write them to a file of the workspace", maxKept, maxScopes)
	}
	s.scopes[pkg] = scope
	return nil
}

// Paths returns the packages that the scope imports.
func (s *Scope) Paths() map[string]bool {
	out := map[string]bool{}
	for _, path := range s.Blank {
		out[path] = true
	}
	for _, path := range s.Imports {
		out[path] = true
	}
	for _, d := range s.Declarations {
		for _, path := range d.Imports {
			out[path] = true
		}
	}
	return out
}

func (s *Scope) size() (n int) {
	for _, d := range s.Declarations {
		n += len(d.Text) + 64*(len(d.Names)+len(d.Imports)+1)
	}
	for name, path := range s.Imports {
		n += len(name) + len(path)
	}
	for _, path := range s.Blank {
		n += len(path)
	}
	return n
}
