package main

import (
	"fmt"
	"strings"
	"sync"
	"unicode/utf8"
)

// Bounds of what is told and kept, in bytes.
const (
	maxMessage = 4 << 10
	maxStack   = 16 << 10
	maxValue   = 16 << 10
)

// cut is text that is valid UTF-8 and not longer than limit, with a note where
// something was left out.
func cut(text string, limit int) string {
	text = strings.ToValidUTF8(text, "\uFFFD")
	if len(text) <= limit {
		return text
	}
	end := limit
	for end > 0 && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s\n[... %d more bytes truncated ...]", text[:end], len(text)-end)
}

// capped keeps the beginning and the end of what is written to it and counts what
// is between, so that a flood costs its writer time and nobody memory.
type capped struct {
	limit int

	mu   sync.Mutex
	head []byte
	tail []byte // at most twice as long as what is kept of it
	lost int64
}

func (c *capped) Write(p []byte) (int, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	n, end := len(p), c.limit/4
	room := min(n, c.limit-end-len(c.head))
	c.head, p = append(c.head, p[:room]...), p[room:]
	if excess := len(p) - end; excess > 0 {
		c.lost += int64(excess)
		p = p[excess:]
	}
	c.tail = append(c.tail, p...)
	if len(c.tail) > 2*end {
		c.trim()
	}
	return n, nil
}

// trim keeps what the end may hold.
func (c *capped) trim() {
	if excess := len(c.tail) - c.limit/4; excess > 0 {
		c.lost += int64(excess)
		c.tail = append(c.tail[:0], c.tail[excess:]...)
	}
}

// String is what was kept, with a note where something was left out.
func (c *capped) String() string {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.trim()
	text := string(c.head)
	if c.lost > 0 {
		text += fmt.Sprintf("\n[... %d bytes truncated ...]\n", c.lost)
	}
	return strings.ToValidUTF8(text+string(c.tail), "\uFFFD")
}

// scrubber drops directories of the machine from what the toolchain and programs
// say; those of the workspace become relative.
func scrubber(dirs ...string) func(string) string {
	pairs := []string{ourPrefix, ""}
	for _, d := range dirs {
		if len(d) > 1 {
			pairs = append(pairs, d+"/src/", "", d+`\src\`, "", d+"/pkg/mod/", "", d+"/", "", d+`\`, "")
		}
	}
	return strings.NewReplacer(pairs...).Replace
}
