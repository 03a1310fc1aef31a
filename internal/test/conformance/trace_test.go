package conformance

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	tracepb "go.opentelemetry.io/proto/otlp/trace/v1"

	"github.com/toolhost/toolhost/internal/test/otlptest"
	"github.com/toolhost/toolhost/internal/test/plugintest"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// traced is the mode of this binary that is a plugin with a tool that says which span it is in.
const traced plugintest.Mode = "traced"

func beTraced() {
	pluginsdk.Plugin{Name: string(traced), Tools: []tool.Tool{
		pluginsdk.Func("where_am_i", "Answers with the span it is in.", func(ctx context.Context, _ struct{}) (string, error) {
			return tool.TraceFrom(ctx).Parent, nil
		}, pluginsdk.Safe()),
	}}.Main()
}

var natsURL = regexp.MustCompile(`nats://127\.0\.0\.1:\d+`)

// One trace leads from a client made with the TypeScript SDK through a host, and the host that it calls, to a Go plugin;
// the record, the stream that toolhost top draws and what the page asks for have the trace and its phases.
func TestTraceFromAnotherSDK(t *testing.T) {
	t.Parallel()
	modules(t)
	c := otlptest.New(t, "")
	telemetry := fmt.Sprintf("telemetry: {endpoint: '%s'}\n", c.URL)
	a := newWorld(t, telemetry+"nats: {share: ['*']}\n", traced)
	b := newWorld(t, telemetry+"nats: {mount: ['*']}\n")
	a.run("fleet", "key")
	const key = "state/toolhost/fleet.key"
	require.NoError(t, os.MkdirAll(filepath.Dir(filepath.Join(b.home, key)), 0o700))
	b.write(filepath.Join(b.home, key), string(require.Must(os.ReadFile(filepath.Join(a.home, key)))(t)))
	hub := natsURL.FindString(a.serve("--nats", "embedded:0", "--name", "a").log.String())
	s := b.serve("--nats", hub, "--name", "b")
	for i, era := range []string{sessions, requests} {
		d := b.drive(era, s.token, s.url)
		require.Eventually(t, "the tool is mounted", func() bool { return slices.Contains(d.tools(), "where_am_i") })
		trace := fmt.Sprintf("%032x", 0xabcdef+i)
		var r result
		d.do("call", map[string]any{"name": "where_am_i", "_meta": map[string]any{"traceparent": "00-" + trace + "-00000000000000aa-01"}}, &r)
		var calls []*tracepb.Span
		var below map[string][]string
		require.Eventually(t, "the spans of both hosts", func() bool {
			calls, below = c.Of(trace)
			return len(calls) == 2
		})
		if otlptest.Attribute(calls[0], "toolhost.via") != "mcp" {
			slices.Reverse(calls)
		}
		first, second := fmt.Sprintf("%x", calls[0].GetSpanId()), fmt.Sprintf("%x", calls[1].GetSpanId())
		if got, want := fmt.Sprintf("%x %x %s", calls[0].GetParentSpanId(), calls[1].GetParentSpanId(), r.text()),
			"00000000000000aa "+first+" 00-"+trace+"-"+second+"-01"; got != want {
			t.Errorf("%s: the spans are in\n%s, want\n%s", era, got, want)
		}
		if !slices.Contains(below[first], "ran") || !slices.Contains(below[second], "ran") || otlptest.Attribute(calls[0], "toolhost.client") != "typescript 1.0.0" {
			t.Errorf("%s: below them is %v: %v", era, below, calls)
		}
		b.tells(trace)
	}
}

// tells checks that one who looks for the newest call sees its trace and its phases, wherever that is.
func (w *world) tells(trace string) {
	w.t.Helper()
	var line struct{ Call, Trace string }
	require.NoError(w.t, json.Unmarshal([]byte(w.run("audit", "--tool", "where_am_i", "-n", "1", "--json")), &line))
	if shown := w.run("audit", "show", line.Call); line.Trace != trace || !strings.Contains(shown, trace) || !strings.Contains(shown, "\n  on a\n") {
		w.t.Errorf("%v is shown as\n%s", line, shown)
	}
	if whole := string(require.Must(io.ReadAll(w.ask("GetCall", "application/json", fmt.Sprintf(`{"id":%q}`, line.Call))))(w.t)); !strings.Contains(whole, trace) ||
		!strings.Contains(whole, `\"there\":{`) {
		w.t.Errorf("the page gets %s", whole)
	}
	const message = `{"activityMs":250}`
	stream := w.ask("Watch", "application/connect+json", "\x00\x00\x00\x00"+string(rune(len(message)))+message) // as Connect has it: flags, length, message
	require.Must(io.ReadFull(stream, make([]byte, 5)))(w.t)
	var now struct {
		Activity struct {
			Ended []struct {
				ID, Trace string
				Phases    struct{ RanNs string }
			}
		}
	}
	require.NoError(w.t, json.NewDecoder(stream).Decode(&now))
	for _, e := range now.Activity.Ended {
		if e.ID == line.Call && e.Trace == trace && e.Phases.RanNs != "" {
			return
		}
	}
	w.t.Errorf("who looks sees %+v", now)
}

// ask asks the daemon for what is not for MCP clients.
func (w *world) ask(procedure, kind, body string) io.Reader {
	w.t.Helper()
	client := http.Client{Transport: &http.Transport{DisableKeepAlives: true, DialContext: func(context.Context, string, string) (net.Conn, error) {
		return net.Dial("unix", filepath.Join(w.home, "socket")) //nolint:noctx // of this machine
	}}}
	resp := require.Must(client.Post("http://toolhost/toolhost.daemon.v1.Daemon/"+procedure, kind, strings.NewReader(body)))(w.t) //nolint:noctx,bodyclose // it answers, and is closed with the test
	w.t.Cleanup(func() { _ = resp.Body.Close() })
	return resp.Body
}
