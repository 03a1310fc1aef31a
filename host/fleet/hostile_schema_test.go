package fleet_test

import (
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/fleet"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A host whose schemas are too large together loses tools of its own. Those of another host are all
// there, whichever is read first.
func TestHugeSchemasHarmNoOtherHost(t *testing.T) {
	t.Parallel()
	s := newSite(t)
	schema := tool.Schema(`{"type":"object","properties":{"v":{"type":"string","pattern":"` + strings.Repeat("([ab]{0,999})", 20) + `"}}}`)
	const huge, honest = 20, 100 // a huge one costs some 8,000 of the 120,000 subschemas that a host may share
	var tools []tool.Tool
	for i := range huge {
		tools = append(tools, says(fmt.Sprintf("huge.t%d", i), "", func(d *tool.Definition) { d.InputSchema = schema }))
	}
	join(t, s.config("hostile", share("*")), tools...)
	tools = nil
	for i := range honest {
		tools = append(tools, says(fmt.Sprintf("honest.t%d", i), "fine"))
	}
	join(t, s.config("honest", share("*")), tools...)
	log := new(lines)
	a := join(t, s.config("a", mount("*"), func(c *fleet.Config) {
		c.Log = hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Warn})
	}))
	count := func(prefix string) (n int) {
		for _, t := range a.Tools(host.Filter{}) {
			if strings.HasPrefix(t.Name, prefix) {
				n++
			}
		}
		return n
	}
	begin := time.Now()
	require.Eventually(t, "the tools of the honest host", func() bool { return count("honest.") == honest })
	t.Logf("the honest host's tools are there after %v", time.Since(begin))
	assert.Equal(t, a.text(t, "honest.t7"), "fine")
	require.Eventually(t, "some of the others", func() bool { return count("huge.") > 0 })
	if n := count("huge."); n >= huge {
		t.Errorf("%d huge tools are mounted", n)
	}
	if n := count("honest."); n != honest {
		t.Errorf("%d honest tools are left", n)
	}
	if text := log.String(); !strings.Contains(text, "too large together") || !strings.Contains(text, "host=hostile") {
		t.Errorf("log: %s", text)
	}
}

// lines is a log.
type lines struct {
	mu   sync.Mutex
	text strings.Builder
}

func (l *lines) Write(p []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.Write(p)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.text.String()
}
