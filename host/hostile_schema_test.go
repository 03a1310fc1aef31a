package host_test

import (
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/hostile"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Descriptions of which each tool is within the bounds, and all together are not.
func TestHostileDescriptions(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 2, []attack{
		{mode: hostile.Secretive, uncalled: true, within: 5 * time.Second, start: &fault{code: tool.CodeUnavailable, texts: []string{"sensitive names together"}}},
	})
}

// A plugin has more subschemas than are compiled for it, and keeps the tools that come before.
func TestHostileVerbose(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 1, []attack{hasTooMuch(hostile.Verbose, 400, 600)})
}

// The same number in tools of which each has as many as it may, which take five times as long.
func TestHostileIntricate(t *testing.T) { //nolint:paralleltest // it counts
	if testing.Short() {
		t.Skip("takes 15 s of processors: .ci/long runs it")
	}
	together(t, 1, []attack{hasTooMuch(hostile.Intricate, 2, 60)})
}

// hasTooMuch has some tools, at least and at most so many.
func hasTooMuch(mode plugintest.Mode, least, most int) attack {
	return attack{
		mode: mode, within: time.Minute,
		opts: []host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.StartTimeout = 20 * ceiling
		})}, // with the race detector it takes minutes
		start: &fault{code: tool.CodeInvalidDefinition, texts: []string{"tools from", "subschemas together"}},
		then: func(t *testing.T, s *scene) {
			if n := len(s.owned()); n < least || n > most {
				t.Errorf("it has %d tools", n)
			}
			s.call(t)
		},
	}
}

// A plugin claims that its tool takes 292 years, and may be tried ten times more. It has
// the operator's time, once.
func TestHostileClaimOfTime(t *testing.T) { //nolint:paralleltest // it counts
	together(t, 2, []attack{{
		mode: hostile.Eternal, opts: []host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.MaxTimeout = 500 * time.Millisecond
		})}, within: 5 * time.Second,
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
