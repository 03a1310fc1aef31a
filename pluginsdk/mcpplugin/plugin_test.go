package mcpplugin_test

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"

	"github.com/hashicorp/go-hclog"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/mcpplugin"
	"github.com/toolhost/toolhost/pluginsdk/tool"
	"github.com/toolhost/toolhost/pluginsdk/tooltest"
)

// The binary of the tests is the plugin, too.
func TestMain(m *testing.M) {
	if mcpplugin.Hosted() {
		mcpplugin.Main(newServer(), func(d *tool.Definition) {
			if d.Name == "note" {
				d.Permission = "notes:write"
			}
		})
	}
	os.Exit(m.Run())
}

// lines is a log that a test reads while it is written.
type lines struct {
	mu  sync.Mutex
	buf bytes.Buffer
}

func (l *lines) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.Write(b)
}

func (l *lines) String() string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.buf.String()
}

// opened returns a host of the plugin, its workspace and its log.
func opened(t *testing.T) (*host.Host, string, *lines) {
	t.Helper()
	root, log := t.TempDir(), &lines{}
	h, err := host.New(host.WithRoot(root), host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: log, Level: hclog.Debug})))
	require.NoError(t, err)
	t.Cleanup(func() { _ = h.Close(context.Background()) })
	require.Must(h.Load(t.Context(), os.Args[0]))(t)
	return h, root, log
}

func textIn(t *testing.T, r tool.Result, err error) string {
	t.Helper()
	if err != nil || len(r.Content) != 1 {
		t.Fatalf("%+v, %v", r, err)
	}
	c, ok := r.Content[0].(tool.TextContent)
	if !ok {
		t.Fatalf("%+v", r)
	}
	return c.Text
}

// The tools are the server's, and what their handlers return arrives.
func TestPluginServesTheTools(t *testing.T) {
	t.Parallel()
	h, _, _ := opened(t)
	s := h.Session()
	for name, want := range map[string]tool.Safety{"add": tool.Safe, "note": tool.Cautious, "wipe": tool.Dangerous} {
		if got, ok := h.Get(name); !ok || got.Safety != want || got.Idempotent != (want == tool.Safe) {
			t.Errorf("%s: %+v", name, got.Definition)
		}
	}
	if got, _ := h.Get("add"); got.Title != "Add" || got.Description != "Adds." || len(got.OutputSchema) == 0 || !strings.Contains(string(got.InputSchema), `"a"`) {
		t.Errorf("%+v", got.Definition)
	}
	if p := h.Plugins()[0]; p.Version != "1.2.3" {
		t.Errorf("%+v", p)
	}
	r, err := s.Execute(t.Context(), tool.Call{Name: "add", Arguments: []byte(`{"a":1,"b":2}`)})
	if got := textIn(t, r, err); got != `{"total":1099511627779}` || string(r.Structured) != got {
		t.Errorf("%s, %s", got, r.Structured)
	}
	r, err = s.Execute(t.Context(), tool.Call{Name: "fail"})
	if got := textIn(t, r, err); !r.IsError || got != "the paper is out" {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]tool.Code{
		"own": tool.CodeResourceExhausted, "panic": tool.CodeToolFailed, "note": tool.CodePermissionDenied, "wipe": tool.CodeApprovalRequired,
	} {
		if _, err := s.Execute(t.Context(), tool.Call{Name: name}); tool.CodeOf(err) != want {
			t.Errorf("%s: %v, want %s", name, err, want)
		}
	}
	r, err = s.Execute(t.Context(), tool.Call{Name: "whose"})
	if got := textIn(t, r, err); got != s.ID() {
		t.Errorf("the session is %q, and the handler is told of %q", s.ID(), got)
	}
}

// What a handler asks, logs and reports reaches whoever made the call.
func TestPluginPassesOn(t *testing.T) {
	t.Parallel()
	h, root, log := opened(t)
	s := h.Session()
	for _, name := range []string{"ask", "ask_later"} {
		var asked tool.Question
		ctx := tool.WithAsker(t.Context(), func(_ context.Context, q tool.Question) (tool.Answer, error) {
			asked = q
			return tool.Answer{Action: tool.Accept, Content: []byte(`{"size":"m"}`)}, nil
		})
		r, err := s.Execute(ctx, tool.Call{Name: name})
		if got := textIn(t, r, err); got != "accept m" || !strings.Contains(asked.Message, "Which size?") || !strings.Contains(string(asked.Schema), `"enum"`) {
			t.Errorf("%s: %q for %+v", name, got, asked)
		}
		ctx = tool.WithAsker(t.Context(), func(context.Context, tool.Question) (tool.Answer, error) {
			return tool.Answer{Action: tool.Decline}, nil
		})
		r, err = s.Execute(ctx, tool.Call{Name: name})
		if got := textIn(t, r, err); got != "decline <nil>" {
			t.Errorf("%s: %q after a no", name, got)
		}
	}
	if r, err := s.Execute(t.Context(), tool.Call{Name: "ask"}); tool.CodeOf(err) != tool.CodeUnsupported {
		t.Errorf("a question that cannot be answered: %+v, %v", r, err)
	}

	if _, err := s.Execute(t.Context(), tool.Call{Name: "log"}); err != nil {
		t.Error(err)
	}
	assert.Containsf(t, log.String(), "calc: almost full", "the log is %s", log)

	ctx, cancel := context.WithCancel(t.Context())
	var got tool.Progress
	_, err := s.Execute(tool.WithProgress(ctx, func(p tool.Progress) { got = p; cancel() }), tool.Call{Name: "wait"})
	if tool.CodeOf(err) != tool.CodeCanceled || got != (tool.Progress{Done: 1, Total: 2, Message: "half"}) {
		t.Errorf("%+v, %v", got, err)
	}
	require.Eventually(t, "the server is told", func() bool { _, err := os.Stat(filepath.Join(root, "canceled")); return err == nil })
}

// Sessions of the host do not share what the server keeps of one.
func TestPluginHasASessionForEach(t *testing.T) {
	t.Parallel()
	h, _, _ := opened(t)
	one, other := h.Session(), h.Session()
	for i, want := range []string{"1", "2", "1", "3"} {
		s := one
		if i == 2 {
			s = other
		}
		r, err := s.Execute(t.Context(), tool.Call{Name: "count"})
		assert.Equalf(t, textIn(t, r, err), want, "call %d counts", i)
	}
}

// The host follows the server's tools.
func TestPluginGrows(t *testing.T) {
	t.Parallel()
	h, _, _ := opened(t)
	require.Must(h.Session().Execute(t.Context(), tool.Call{Name: "grow"}))(t)
	require.Eventually(t, "the host has the tools that there are now", func() bool {
		_, grown := h.Get("grown")
		_, there := h.Get("wipe")
		return grown && !there
	})
}

// The conformance suite of providers.
func TestPluginIsAProvider(t *testing.T) {
	t.Parallel()
	tooltest.Run(t, func(t *testing.T) tool.Provider {
		s := mcp.NewServer(&mcp.Implementation{Name: "calc"}, nil)
		safe := &mcp.ToolAnnotations{ReadOnlyHint: true}
		mcp.AddTool(s, &mcp.Tool{Name: "add", Description: "Adds.", Annotations: safe},
			func(_ context.Context, _ *mcp.CallToolRequest, in sum) (*mcp.CallToolResult, total, error) {
				return nil, total{int64(in.A + in.B)}, nil
			})
		mcp.AddTool(s, &mcp.Tool{Name: "ask", Description: "Asks.", Annotations: safe}, ask)
		p := require.Must(mcpplugin.Plugin(s))(t)
		return p.Set
	})
}

// What no plugin can serve is said to the author.
func TestPluginRefuses(t *testing.T) {
	t.Parallel()
	s := mcp.NewServer(&mcp.Implementation{Name: "bad"}, nil)
	mcp.AddTool(s, &mcp.Tool{Name: "mute"}, fail)
	if _, err := mcpplugin.Plugin(s); tool.CodeOf(err) != tool.CodeInvalidDefinition || !strings.Contains(err.Error(), "mute") {
		t.Errorf("%v", err)
	}
	s = newServer()
	if _, err := mcpplugin.Plugin(s, func(d *tool.Definition) { d.Name = "x." + d.Name }); tool.CodeOf(err) != tool.CodeInvalidDefinition {
		t.Errorf("%v", err)
	}
}

// A plugin that does not use this package does not have MCP's SDK in it.
func TestOtherPluginsDoNotLinkTheSDK(t *testing.T) {
	t.Parallel()
	binaries.Sources(t, "./plugins/fs")
	out, err := exec.CommandContext(t.Context(), "go", "list", "-deps", "github.com/toolhost/toolhost/plugins/fs").Output()
	if err != nil || !bytes.Contains(out, []byte("toolhost/internal/wire")) || bytes.Contains(out, []byte("modelcontextprotocol")) {
		t.Errorf("%v: %s", err, out)
	}
}
