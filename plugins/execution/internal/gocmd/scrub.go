package gocmd

import (
	"context"
	"strings"
	"sync"

	"github.com/toolhost/toolhost/plugins/execution/internal/form"
)

// Scrubber removes directories of the machine from messages. Paths in the
// workspace become relative.
type Scrubber struct {
	Root string // the workspace

	mu   sync.Mutex
	dirs []string // of the toolchain
}

// For returns a function that scrubs what was printed by c, or by a program that
// it built.
func (s *Scrubber) For(ctx context.Context, c Command) func(string) string {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.dirs == nil {
		if out, _, err := c.Run(ctx, "env", "GOROOT", "GOMODCACHE", "GOCACHE"); err == nil {
			s.dirs = strings.Fields(out)
		}
	}
	var pairs []string
	for _, end := range []string{"\n", " ", ":", ";", ",", ")"} {
		if len(s.Root) > 1 {
			pairs = append(pairs, s.Root+end, "."+end)
		}
	}
	for _, d := range append([]string{strings.TrimSuffix(form.FilePrefix, "/"), c.Temp, s.Root}, s.dirs...) {
		if len(d) > 1 {
			pairs = append(pairs, d+"/src/", "", d+`\src\`, "", d+"/pkg/mod/", "", d+"/", "", d+`\`, "")
		}
	}
	replace := strings.NewReplacer(pairs...).Replace
	return func(text string) string {
		return strings.TrimSuffix(replace(text+"\n"), "\n")
	}
}
