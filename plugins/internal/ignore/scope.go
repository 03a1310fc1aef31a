package ignore

// Scope is the rules that hold in a directory: its own and those of the
// directories above. Nil: none.
type Scope struct {
	up         *Scope
	sets       []Set
	repository bool
}

// Set is a directory's rules of one kind.
type Set struct {
	Rules *Rules // nil: none
	// Git says that the kind is git's own: rules from above a repository do
	// not hold in it.
	Git bool
}

// Below is the scope of a directory in this one. Sets are its own rules, of the
// same kinds in the same order in every scope: a later kind has precedence over
// an earlier, and within a kind a deeper directory over a higher. Repository
// says that the directory is the top of a git repository.
func (s *Scope) Below(sets []Set, repository bool) *Scope {
	return &Scope{up: s, sets: sets, repository: repository}
}

// Ignored reports whether a path in the scope's directory is left out.
func (s *Scope) Ignored(path string, isDir bool) bool {
	if s == nil {
		return false
	}
	for kind := len(s.sets) - 1; kind >= 0; kind-- {
		if ignored, decided := s.ask(kind, path, isDir); decided {
			return ignored
		}
	}
	return false
}

// ask goes up until rules of a kind decide.
func (s *Scope) ask(kind int, path string, isDir bool) (ignored, decided bool) {
	for at := s; at != nil; at = at.up {
		set := at.sets[kind]
		if set.Rules != nil {
			if ignored, decided = set.Rules.Match(path, isDir); decided {
				return ignored, true
			}
		}
		if at.repository && set.Git {
			break
		}
	}
	return false, false
}
