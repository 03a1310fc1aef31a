package session

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
)

func TestManySessions(t *testing.T) {
	t.Parallel()
	var s Sessions
	first := s.Get("0")
	for i := range maxSessions {
		s.Get(fmt.Sprint("s", i))
	}
	if s.Get("0") == first || len(s.known) != maxSessions {
		t.Errorf("%d sessions are kept", len(s.known))
	}
	if one, two := s.Get(""), s.Get(""); one == two {
		t.Error("callers without a session share one")
	}
}

func TestHistoryIsARing(t *testing.T) {
	t.Parallel()
	s := New()
	for i := range 250 {
		s.Add(Entry{Number: i})
	}
	if len(s.History) != MaxHistory || s.History[0].Number != 150 || s.History[99].Number != 249 {
		t.Errorf("%d entries from %d", len(s.History), s.History[0].Number)
	}
	for i := range 250 {
		s.Add(Entry{Number: i, Form: strings.Repeat("x", maxForm*2)})
	}
	size := 0
	for _, e := range s.History {
		size += len(e.Form)
	}
	if size > maxHistorySize || size < maxHistorySize/2 {
		t.Errorf("%d bytes are remembered", size)
	}
}

func TestDeclarationsAreBounded(t *testing.T) {
	t.Parallel()
	s := New()
	big := &Scope{Declarations: []*form.Declaration{{Text: strings.Repeat("x", maxKept/2)}}}
	for _, pkg := range []string{"a", "a"} {
		if err := s.SetScope(pkg, big); err != nil {
			t.Errorf("half of the room: %v", err)
		}
	}
	if err := s.SetScope("b", big); err == nil {
		t.Error("there is room for more than the bound")
	}
}
