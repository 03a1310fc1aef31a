package chain_test

import (
	"context"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

func TestChain(t *testing.T) {
	t.Parallel()
	var way []string
	step := func(name string) chain.Middleware {
		return func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c tool.Call) (tool.Result, error) {
				way = append(way, name+" in")
				defer func() { way = append(way, name+" out") }()
				return next(ctx, c)
			}
		}
	}
	h := chain.Wrap(func(context.Context, tool.Call) (tool.Result, error) {
		way = append(way, "handler")
		return tool.Text("x"), nil
	}, step("a"), nil, step("b"))
	if r, err := h(t.Context(), tool.Call{}); err != nil || r.Text() != "x" {
		t.Fatalf("%+v, %v", r, err)
	}
	if got, want := strings.Join(way, ", "), "a in, b in, handler, b out, a out"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
