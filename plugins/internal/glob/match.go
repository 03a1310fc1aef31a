package glob

// Match reports whether the pattern matches the whole path.
func (p Pattern) Match(path string) bool {
	now, next := newStates(len(p.tokens)), newStates(len(p.tokens))
	now.add(p.tokens, 0)
	for _, c := range units(path, p.bytewise) {
		next.clear()
		for _, i := range now.list {
			p.step(next, i, c)
		}
		if now, next = next, now; len(now.list) == 0 {
			return false
		}
	}
	return now.has[len(p.tokens)]
}

// step adds the states that a character leads to from one state.
func (p Pattern) step(next *states, i int, c rune) {
	if i == len(p.tokens) {
		return
	}
	switch t := p.tokens[i]; t.kind {
	case literal:
		if c == t.char {
			next.add(p.tokens, i+1)
		}
	case one:
		if c != '/' {
			next.add(p.tokens, i+1)
		}
	case set:
		if c != '/' && t.set.has(c) {
			next.add(p.tokens, i+1)
		}
	case star:
		if c != '/' {
			next.add(p.tokens, i)
		}
	case deep:
		next.add(p.tokens, i)
	case dirs:
		next.put(i) // it cannot end here, only after a slash
		if c == '/' {
			next.add(p.tokens, i+1)
		}
	}
}

// states is a set of the places in a pattern that a path may have led to.
type states struct {
	has  []bool
	list []int
}

func newStates(tokens int) *states {
	return &states{has: make([]bool, tokens+1), list: make([]int, 0, tokens+1)}
}

func (s *states) clear() {
	for _, i := range s.list {
		s.has[i] = false
	}
	s.list = s.list[:0]
}

func (s *states) put(i int) {
	if !s.has[i] {
		s.has[i] = true
		s.list = append(s.list, i)
	}
}

// add adds a place, and those after tokens that may match nothing.
func (s *states) add(tokens []token, i int) {
	for ; i < len(tokens); i++ {
		s.put(i)
		if k := tokens[i].kind; k != star && k != deep && k != dirs {
			return
		}
	}
	s.put(i)
}
