package host_test

import (
	"context"
	"testing"
	"time"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// What a tool claims of time holds up to the operator's maximum, and what the operator
// says holds above it.
func TestClaimedTimeouts(t *testing.T) {
	t.Parallel()
	const claimed = tool.Duration(100 * 365 * 24 * time.Hour)
	for name, c := range map[string]struct {
		opts    []host.Option
		claimed tool.Duration
		want    time.Duration
	}{
		"a claim":             {nil, tool.Duration(2 * time.Minute), 2 * time.Minute},
		"too much by default": {nil, claimed, 10 * time.Minute},
		"too much": {[]host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.MaxTimeout = time.Hour
		})}, claimed, time.Hour},
		"as much as it likes": {[]host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.MaxTimeout = 0
		})}, claimed, time.Duration(claimed)},
		"none": {nil, 0, 0},
		"none, and a low maximum": {[]host.Option{host.WithDefaults(func(all *plugin.Settings) {
			all.MaxTimeout = time.Second
		})}, 0, 0},
		"the operator's word": {
			[]host.Option{host.WithOverrides(map[string]host.Override{"x": {Timeout: time.Hour}})}, claimed, time.Hour,
		},
	} {
		h := newHost(t, c.opts...)
		require.NoError(t, h.Register(echo("x", func(d *tool.Definition) { d.Timeout = c.claimed })))
		x, _ := h.Get("x")
		if time.Duration(x.Timeout) != c.want || x.Claimed.Timeout != c.claimed {
			t.Errorf("%s: %v of %v", name, time.Duration(x.Timeout), time.Duration(x.Claimed.Timeout))
		}
	}
}

// The maximum is one for all attempts of a call.
func TestAttemptsShareTheirTime(t *testing.T) {
	t.Parallel()
	const attempt, most = 100 * time.Millisecond, 250 * time.Millisecond
	h := newHost(t, host.WithDefaults(func(all *plugin.Settings) { all.MaxTimeout = most }))
	x := echo("x", func(d *tool.Definition) { d.Idempotent, d.MaxRetries, d.Timeout = true, 10, tool.Duration(attempt) })
	x.Handler = func(ctx context.Context, _ tool.Call) (tool.Result, error) {
		<-ctx.Done()
		return tool.Result{}, ctx.Err()
	}
	require.NoError(t, h.Register(x))
	out := h.Call(t.Context(), tool.Call{Name: "x"})
	if out.Error == nil || out.Error.Code != tool.CodeDeadlineExceeded || out.Metadata.Attempts < 1 || out.Metadata.Attempts > 3 {
		t.Errorf("%+v", out)
	}
}
