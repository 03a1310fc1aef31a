//go:build unix && !race

package host_test

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A plugin has more subschemas than are compiled for it. One goroutine does: the race detector
// makes it take minutes, and would find nothing.
func TestHostileVerbose(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 1, []attack{{
		mode: hostile.Verbose, within: 6 * time.Second, then: hasSomeTools,
		opts:  []host.Option{host.WithStartTimeout(4 * ceiling)},
		start: &fault{code: tool.CodeInvalidDefinition, texts: []string{"tools from", "subschemas together"}},
	}})
}

// hasSomeTools has a plugin keep the tools that come before it is too much.
func hasSomeTools(t *testing.T, s *scene) {
	if n := len(s.owned()); n < 2 || n > 60 {
		t.Errorf("it has %d tools", n)
	}
	s.call(t)
}
