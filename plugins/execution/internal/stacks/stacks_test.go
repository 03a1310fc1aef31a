package stacks

import (
	"fmt"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/internal/test/assert"
)

const dump = `panic: no

goroutine 1 [running]:
panic({0x1, 0x2})
	/go/src/runtime/panic.go:860 +0x13a
ex.com/a/b.(*T[...]).Do(0x1, {0x2, 0x3}, func())
	/w/b.go:3 +0x28
ex.com/a/b.f.func1(...)
	/w/b.go:4
created by ex.com/a/b.f in goroutine 7
	/w/b.go:5 +0x2

goroutine 8 gp=0x1 m=nil [chan receive, 2 minutes]:
ex.com/a/b.wait()
	/w/b.go:9 +0x1 fp=0x1 sp=0x2 pc=0x3

goroutine 9 [chan receive, 3 minutes]:
ex.com/a/b.wait()
	/w/b.go:9 +0x1

goroutine 10 [IO wait]:
net.read()
	/go/src/net/net.go:1 +0x1

rax    0xca
`

func TestParse(t *testing.T) {
	t.Parallel()
	before, all := Parse(dump)
	if before != "panic: no" || len(all) != 4 || !all[1].IsBlocked() || all[3].IsBlocked() {
		t.Fatalf("got %q, %+v", before, all)
	}
	own := Own(all, func(f Frame) bool { return strings.HasPrefix(f.File, "/w/") }, func(Frame) bool { return false })
	const want = `goroutine 1 [running]:
	b.(*T[...]).Do /w/b.go:3
	b.f.func1 /w/b.go:4
	created by b.f /w/b.go:5
2 goroutines [chan receive, 2 minutes]:
	b.wait /w/b.go:9`
	assert.Equal(t, Text(own, 1<<10), want)
}

// However many goroutines there are and however deep they are, the text is bounded.
func TestTextIsBounded(t *testing.T) {
	t.Parallel()
	var all []Goroutine
	for i := range 1000 {
		g := Goroutine{ID: i, State: "running"}
		for j := range 200 {
			g.Frames = append(g.Frames, Frame{Func: fmt.Sprintf("a.f%d", i), File: "a.go", Line: j})
		}
		all = append(all, g)
	}
	text := Text(all, 2<<10)
	if len(text) > 3<<10 || !strings.Contains(text, "[... 176 more frames ...]") || !strings.Contains(text, "more stacks ...]") {
		t.Errorf("%d bytes: %s", len(text), text)
	}
}
