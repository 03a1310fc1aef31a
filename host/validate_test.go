package host_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// Arguments that are made to keep the host busy, from a caller without the grant, whose
// deadline is near: it costs a moment, and says what to do.
func TestArgumentsThatTakeLong(t *testing.T) {
	t.Parallel()
	list := func(n int, value string) string {
		return `{"v":[` + strings.TrimSuffix(strings.Repeat(value+",", n), ",") + `]}`
	}
	// A slow machine sees the deadline first.
	tooLong := []tool.Code{tool.CodeResourceExhausted, tool.CodeDeadlineExceeded}
	for name, c := range map[string]struct {
		schema, args string
		codes        []tool.Code
	}{
		"regular expressions": {`"items":{"format":"regex"}`, list(6000, `"`+strings.Repeat(`(\\pL{999})?`, 20)+`"`), tooLong},
		"a large pattern": {
			`"items":{"pattern":"` + strings.Repeat("([ab]{0,999})", 20) + `c$"}`, list(1, `"`+strings.Repeat("ab", 1200)+`"`),
			tooLong,
		},
		"many values": {`"items":{"enum":[1,2,3]}`, list(900_000, "3"), []tool.Code{tool.CodeDeadlineExceeded, tool.CodePermissionDenied}},
	} {
		h := newHost(t)
		guarded := echo("guarded", func(d *tool.Definition) {
			d.Permission = "net"
			d.InputSchema = []byte(`{"type":"object","properties":{"v":{` + c.schema + `}}}`)
		})
		require.NoError(t, h.Register(guarded))
		ctx, cancel := context.WithTimeout(t.Context(), 100*time.Millisecond)
		start := time.Now()
		_, err := h.Session().Execute(ctx, tool.Call{Name: "guarded", Arguments: []byte(c.args)})
		cancel()
		e := tool.AsError(err)
		if e == nil || !oneOf(e.Code, c.codes) || e.Hint == "" {
			t.Errorf("%s: %v", name, err)
		}
		if took := time.Since(start); took > 20*500*time.Millisecond {
			t.Errorf("%s: took %v", name, took)
		}
	}
}

func oneOf(code tool.Code, of []tool.Code) bool {
	for _, c := range of {
		if c == code {
			return true
		}
	}
	return false
}
