package dev

import (
	"sync"
	"time"

	"github.com/toolhost/toolhost/host/policy"
)

// calls are the times in which calls ran. It is safe for concurrent use.
type calls struct {
	mu   sync.Mutex
	open map[string]time.Time // when those began that run, by ID
	past [][2]time.Time       // of the last minute: sources are looked at more often
}

// clockStep is how far the times of files may lag behind.
const clockStep = 20 * time.Millisecond

func (c *calls) begun(e policy.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.open == nil {
		c.open = map[string]time.Time{}
	}
	c.open[e.Call.ID] = e.Time.Add(-clockStep)
}

func (c *calls) ended(e policy.Event) {
	c.mu.Lock()
	defer c.mu.Unlock()
	delete(c.open, e.Call.ID)
	begin, end := e.Time.Add(-clockStep), e.Time.Add(e.Duration)
	for len(c.past) > 0 && end.Sub(c.past[0][1]) > time.Minute {
		c.past = c.past[1:]
	}
	if n := len(c.past); n > 0 && !begin.Before(c.past[n-1][0]) && begin.Before(c.past[n-1][1]) {
		c.past[n-1][1] = end // one after the other is one time
		return
	}
	c.past = append(c.past, [2]time.Time{begin, end})
}

// during reports whether a call ran at a time.
func (c *calls) during(t time.Time) bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	for _, begin := range c.open {
		if t.After(begin) {
			return true
		}
	}
	for _, p := range c.past {
		if t.After(p[0]) && t.Before(p[1]) {
			return true
		}
	}
	return false
}
