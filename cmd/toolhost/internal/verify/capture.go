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
	maxFirst = 64 << 10 // from the beginning
	maxLast  = 4 << 10  // of the end
	maxRead  = 64 << 20 // then it is read no longer, and the plugin waits
)

// capture reads what a process writes, keeps the beginning and the end, and counts.
type capture struct {
	mu       sync.Mutex
	first    []byte
	end      []byte
	bytes    int64
	longest  int // line, in bytes
	current  int
	last     time.Time     // when it wrote last; zero: it did not
	dumps    bool          // what comes is Go's list of goroutines, of which only the number is kept
	tasks    int           // in that list
	grown    chan struct{} // replaced and closed with each read
	finished bool
}

func (c *capture) read(r io.Reader) {
	buf := make([]byte, 16<<10)
	for {
		n, err := r.Read(buf)
		c.mu.Lock()
		c.take(buf[:n])
		c.finished = c.finished || err != nil || c.bytes > maxRead
		if c.grown != nil {
			close(c.grown)
			c.grown = nil
		}
		done := c.finished
		c.mu.Unlock()
		if done {
			return
		}
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
	if extra := len(c.end) - maxLast; extra > 0 {
		c.end = append(c.end[:0], c.end[extra:]...)
	}
	for rest := b; len(rest) > 0; {
		i := bytes.IndexByte(rest, '\n')
		if i < 0 {
			c.current += len(rest)
			c.longest = max(c.longest, c.current)
			return
		}
		c.longest = max(c.longest, c.current+i)
		c.current, rest = 0, rest[i+1:]
	}
}

// look returns the beginning, and a channel that is closed when there is more; nil: there will not
// be more.
func (c *capture) look() (first []byte, more <-chan struct{}) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.finished || len(c.first) == maxFirst {
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
