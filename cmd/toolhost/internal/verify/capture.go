package verify

import (
	"bytes"
	"io"
	"strings"
	"sync"
	"time"
)

// The limits of what is kept of the output of a process, in bytes.
const (
	maxFirst = maxLog   // from the beginning
	maxLast  = 4 << 10  // of the end
	maxRead  = 64 << 20 // then it is read no longer, and the plugin waits
)

// capture reads what a process writes, keeps the beginning and the end, and counts.
type capture struct {
	mu    sync.Mutex
	first []byte
	end   []byte
	bytes int64
	last  time.Time     // when it wrote last; zero: it did not
	dumps bool          // what comes is Go's list of goroutines, of which only the number is kept
	tasks int           // in that list
	grown chan struct{} // replaced and closed with each read; nil: there will not be more
}

func (c *capture) read(r io.Reader) {
	buf := make([]byte, 16<<10)
	for more := true; more; {
		n, err := r.Read(buf)
		c.mu.Lock()
		c.take(buf[:n])
		close(c.grown)
		c.grown = nil
		if more = err == nil && c.bytes <= maxRead; more {
			c.grown = make(chan struct{})
		}
		c.mu.Unlock()
	}
}

func (c *capture) take(b []byte) {
	if c.dumps {
		c.tasks += bytes.Count(b, []byte("\ngoroutine "))
		return
	}
	if len(b) > 0 {
		c.last = time.Now()
	}
	c.bytes += int64(len(b))
	c.first = append(c.first, b[:min(len(b), maxFirst-len(c.first))]...)
	c.end = append(c.end, b...)
	c.end = c.end[max(0, len(c.end)-maxLast):]
}

// look returns the beginning, and a channel that is closed when there is more; nil: there will not be more.
func (c *capture) look() (first []byte, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if len(c.first) == maxFirst {
		return c.first, nil
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
