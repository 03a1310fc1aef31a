package durable

import (
	"fmt"
	"testing"
	"time"
)

// Of more calls than a list has, the oldest are left out, and of a call that came twice what came first.
func TestNewest(t *testing.T) {
	t.Parallel()
	begin := time.Now()
	var all []Call
	for i := range maxList + 2 {
		all = append(all, Call{ID: fmt.Sprint(i), Submitted: begin.Add(time.Duration(i/2) * time.Second), State: StateQueued})
	}
	last := len(all) - 1
	again := all[last]
	again.State = StateDone
	got := newest(append(all, again))
	if len(got) != maxList || got[0].Submitted != again.Submitted || got[maxList-1].Submitted != begin.Add(time.Second) {
		t.Fatalf("%d calls, from %v to %v", len(got), got[0], got[len(got)-1])
	}
	for _, c := range got {
		if c.ID == again.ID && c.State != StateDone {
			t.Errorf("the last is %s", c.State)
		}
	}
}
