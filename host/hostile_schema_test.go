//go:build unix

package host_test

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Descriptions of which each tool is within the bounds, and all together are not.
func TestHostileDescriptions(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 2, []attack{
		{mode: hostile.Secretive, uncalled: true, within: 5 * time.Second, start: &fault{code: tool.CodeUnavailable, texts: []string{"sensitive names together"}}},
	})
}

// A plugin claims that its tool takes 292 years, and may be tried ten times more. It has
// the operator's time, once.
func TestHostileClaimOfTime(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 2, []attack{{
		mode: hostile.Eternal, opts: []host.Option{host.WithMaxTimeout(500 * time.Millisecond)}, within: 5 * time.Second,
		call: &fault{code: tool.CodeDeadlineExceeded, texts: []string{"took longer"}},
	}})
}

// Texts that a model reads and a person does not see, in each place where a model is shown
// them.
func TestHostileWhispers(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 2, []attack{{
		mode: hostile.Whisperer, start: &fault{code: tool.CodeInvalidDefinition, texts: []string{"has a hidden character, U+"}},
		then: hasOneTool,
	}})
}
