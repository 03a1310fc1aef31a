package pluginsdk_test

import (
	"context"
	"fmt"
	"slices"
	"testing"

	"github.com/toolhost/toolhost/internal/callctx"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestSessions(t *testing.T) {
	t.Parallel()
	type cart struct{ items []string }
	dropped := make(chan string, 10)
	s := pluginsdk.Sessions[cart]{
		Most: 3, New: func() *cart { return &cart{items: []string{"new"}} },
		Drop: func(c *cart) { dropped <- fmt.Sprint(c.items) },
	}
	of := func(session string) *cart {
		return s.Get(context.WithValue(t.Context(), callctx.Call{}, &tool.Call{Session: session}))
	}
	of("a").items = []string{"a"}
	of("b").items = []string{"b"}
	if one, two := of(""), of(""); one == two || s.Len() != 2 {
		t.Error("callers without a session share one")
	}
	assert.EqualSlicesf(t, of("a").items, []string{"a"}, "a has")
	s.Ended(t.Context(), "a")
	s.Ended(t.Context(), "a")
	s.Ended(t.Context(), "never")
	if got := <-dropped; got != "[a]" || !slices.Equal(of("a").items, []string{"new"}) {
		t.Errorf("dropped %s; a has %q", got, of("a").items)
	}
	of("c")
	of("d")
	if got := <-dropped; got != "[b]" || s.Len() != 3 {
		t.Errorf("the one used longest ago is %s, and %d are kept", got, s.Len())
	}
	var zero pluginsdk.Sessions[int]
	*zero.Get(context.WithValue(t.Context(), callctx.Call{}, &tool.Call{Session: "a"})) = 7
	zero.Ended(t.Context(), "a")
	assert.Equalf(t, *zero.Get(context.WithValue(t.Context(), callctx.Call{}, &tool.Call{Session: "a"})), 0, "what has ended")
}
