package host_test

import (
	"bytes"
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/audit"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// recorded keeps what is put on record.
type recorded struct{ all []audit.Record }

func (r *recorded) Write(one audit.Record) error {
	r.all = append(r.all, one)
	return nil
}

// The first middleware is the outermost; it sees the tool's own name, and what it changes is
// checked and on record.
func TestMiddleware(t *testing.T) {
	t.Parallel()
	var order []string
	step := func(name string) tool.Middleware {
		return func(next tool.Handler) tool.Handler {
			return func(ctx context.Context, c tool.Call) (tool.Result, error) {
				order = append(order, name+" "+c.Name)
				c.Name, c.Session = "other", "forged" // to no effect
				switch string(c.Arguments) {
				case `{"text":"change"}`:
					c.Arguments = []byte(`{"text":"changed"}`)
				case `{"text":"break"}`:
					c.Arguments = []byte(`{"unknown":1}`)
				case `{"text":"panic"}`:
					panic("as told")
				case `{"text":"answer"}`:
					return tool.Text("at once"), nil
				}
				return next(ctx, c)
			}
		}
	}
	sink := &recorded{}
	h := newHost(t, host.WithMiddleware(step("one"), step("two")), host.WithAudit(sink))
	require.NoError(t, h.Register(echo("text.echo")))
	s := h.Session()
	call := func(text string) (tool.Result, error) {
		return s.Execute(t.Context(), tool.Call{Name: "text_echo", Arguments: []byte(`{"text":"` + text + `"}`)})
	}
	if res := require.Must(call("as it is"))(t); res.Text() != `text.echo:{"text":"as it is"}` {
		t.Errorf("answered %q", res.Text())
	}
	if want := []string{"one text.echo", "two other"}; !slices.Equal(order, want) {
		t.Errorf("order %q", order)
	}
	if res := require.Must(call("change"))(t); res.Text() != `text.echo:{"text":"changed"}` {
		t.Errorf("answered %q", res.Text())
	}
	last := sink.all[len(sink.all)-1]
	if string(last.Input) != `{"text":"changed"}` || string(last.AskedInput) != `{"text":"change"}` || last.Session != s.ID() {
		t.Errorf("on record: %+v", last)
	}
	if res := require.Must(call("answer"))(t); res.Text() != "at once" {
		t.Errorf("answered %q", res.Text())
	}
	if _, err := call("break"); tool.CodeOf(err) != tool.CodeInvalidArguments {
		t.Errorf("invalid arguments: %v", err)
	}
	if _, err := call("panic"); tool.CodeOf(err) != tool.CodeInternal || !strings.Contains(err.Error(), "a middleware panicked: as told") {
		t.Errorf("a panic: %v", err)
	}
	if n := len(sink.all); n != 5 {
		t.Errorf("%d records", n)
	}
}

// What the host logs goes to log/slog.
func TestLogHandler(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	h := newHost(t, host.WithLogHandler(slog.NewTextHandler(&out, &slog.HandlerOptions{Level: slog.LevelInfo})),
		host.WithMiddleware(func(tool.Handler) tool.Handler { return nil }))
	require.NoError(t, h.Register(echo("x")))
	if _, err := h.Execute(t.Context(), tool.Call{Name: "x"}); tool.CodeOf(err) != tool.CodeInternal {
		t.Fatal(err)
	}
	assert.Containsf(t, out.String(), "level=ERROR msg=\"a middleware panicked\"", "logged")
}
