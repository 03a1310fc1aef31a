package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// patience is how long a call may take, retries and new starts of its plugin
// included, until it counts as one with no answer.
const patience = 30 * time.Second

// fate is the outcome of a call.
type fate uint8

const (
	answered fate = iota
	failed        // it may have run
	unsent        // it failed, and the host says that it never left
	lost          // no answer came
)

// made is a call that was made.
type made struct {
	idempotent bool
	fate       fate
}

// caller makes one call after the other.
type caller struct {
	number   int
	hosts    []*busy
	sessions []*host.Session // one of each host
	all      *atomic.Int64   // calls of all callers
	over     atomic.Bool     // it has made its last call; what follows is not touched any more

	made     []made
	codes    map[tool.Code]int
	untyped  int
	retried  int
	slowest  time.Duration
	examples []string // of what must not be
}

func newCaller(number int, hosts []*busy, all *atomic.Int64) *caller {
	c := &caller{number: number, hosts: hosts, all: all, codes: map[tool.Code]int{}}
	for _, h := range hosts {
		c.sessions = append(c.sessions, h.Session())
	}
	return c
}

// work makes calls until ctx ends, and waits for the last one.
func (c *caller) work(ctx context.Context) {
	defer c.over.Store(true)
	for ctx.Err() == nil {
		c.call()
		c.all.Add(1)
	}
}

// call makes one call of a tool that is chosen at random. The end of the run is not
// its end.
func (c *caller) call() {
	n := rand.IntN(len(c.hosts)) //nolint:gosec // no secret
	name := c.hosts[n].randomPlugin()
	m := made{idempotent: rand.N(2) == 0} //nolint:gosec // no secret
	if m.idempotent {
		name += "." + again
	} else {
		name += "." + once
	}
	id := callID(c.number, len(c.made))
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	begin := time.Now()
	out, res, err := c.sessions[n].CallWith(ctx, tool.Call{
		ID: id, Name: name, Arguments: fmt.Appendf(nil, `{"us":%d}`, rand.N(maxWork+1).Microseconds()), //nolint:gosec // no secret
	}, host.CallOptions{})
	c.slowest = max(c.slowest, time.Since(begin))
	if out.Metadata.Attempts > 1 {
		c.retried++
	}
	m.fate = c.judge(id, res, err)
	c.made = append(c.made, m)
}

// judge returns the outcome of a call, and records what must not happen.
func (c *caller) judge(id string, res tool.Result, err error) fate {
	var e *tool.Error
	switch {
	case err == nil && !res.IsError && res.Text() == id:
		return answered
	case err == nil: // the answer to another call, or an error of the plugin's own
		c.unlike("%s was answered with %q", id, res.Text())
		return failed
	case !errors.As(err, &e) || e.Code == "" || e.Code == tool.CodeInternal || e.Plugin == "":
		c.unlike("%s failed with %#v", id, err)
		return failed
	}
	c.codes[e.Code]++
	switch {
	case e.Code == tool.CodeDeadlineExceeded:
		c.example("no answer to %s: %v", id, err)
		return lost
	case e.Unsent:
		return unsent
	}
	return failed
}

// unlike notes an answer that is none of those there may be.
func (c *caller) unlike(format string, args ...any) {
	c.untyped++
	c.example(format, args...)
}

func (c *caller) example(format string, args ...any) {
	if len(c.examples) < 3 {
		c.examples = append(c.examples, fmt.Sprintf(format, args...))
	}
}
