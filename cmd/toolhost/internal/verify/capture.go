package verify

import (
	"bytes"
	"errors"
	"strings"
	"sync"
	"time"
)

// The limits of what is kept of the output of a process, in bytes.
const (
	maxFirst = maxLog   // from the beginning
	maxLast  = 4 << 10  // of the end
	maxRead  = 64 << 20 // then its pipe is closed
)

// capture is what a process writes: the beginning, the end, and how much it is.
type capture struct {
	mu    sync.Mutex
	first []byte
	end   []byte
	bytes int64
	last  time.Time     // when it wrote last; zero: it did not
	dumps bool          // what comes is Go's list of goroutines, of which only the number is kept
	tasks int           // in that list
	grown chan struct{} // closed when there is more; nil: that is not waited for
}

var errFlood = errors.New("it writes too much")

// Write implements [io.Writer].
func (c *capture) Write(b []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.dumps {
		c.tasks += bytes.Count(b, []byte("\ngoroutine "))
		return len(b), nil
	}
	c.last = time.Now()
	c.bytes += int64(len(b))
	c.first = append(c.first, b[:min(len(b), maxFirst-len(c.first))]...)
	c.end = append(c.end, b...)
	c.end = c.end[max(0, len(c.end)-maxLast):]
	if c.grown != nil {
		close(c.grown)
		c.grown = nil
	}
	if c.bytes > maxRead {
		return 0, errFlood
	}
	return len(b), nil
}

// look returns the beginning, and a channel that is closed when there is more; nil: there will not be more.
func (c *capture) look() (first []byte, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.first) == maxFirst {
		return c.first, nil
	}
	if c.grown == nil {
		c.grown = make(chan struct{})
	}
	return c.first, c.grown
}

// tail returns the end.
func (c *capture) tail() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	return string(c.end)
}

// words returns the last line that is not empty.
func (c *capture) words() string {
	lines := strings.Split(strings.TrimSpace(c.tail()), "\n")
	return lines[len(lines)-1]
}
