package ignore

// Scope has the rules that apply in a directory: its own and those of the directories
// above. Nil means none.
type Scope struct {
	up         *Scope
	sets       []Set
	repository bool
}

// Set is a directory's rules of one kind.
type Set struct {
	Rules *Rules // nil: none
	// Git says that the kind is git's own: rules from above a repository do not apply
	// in it.
	Git bool
}

// Below returns the scope of a directory in this one. Sets are its own rules, of the
// same kinds in the same order in every scope: a later kind takes precedence over an
// earlier one, and within a kind a deeper directory over a higher one. Repository says
// that the directory is the top of a git repository.
func (s *Scope) Below(sets []Set, repository bool) *Scope {
	return &Scope{up: s, sets: sets, repository: repository}
}

// Ignored reports whether a path in the scope's directory is ignored.
func (s *Scope) Ignored(path string, isDir bool) bool {
	if s == nil {
		return false
	}
	for kind := len(s.sets) - 1; kind >= 0; kind-- {
		if ignored, decided := s.match(kind, path, isDir); decided {
			return ignored
		}
	}
	return false
}

// match asks the rules of a kind, from this directory up, until one decides.
func (s *Scope) match(kind int, path string, isDir bool) (ignored, decided bool) {
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
