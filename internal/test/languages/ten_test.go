package languages

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/hashicorp/go-hclog"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/host/plugin"
	"github.com/toolhost/toolhost/host/policy"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/binaries"
	"github.com/toolhost/toolhost/internal/test/require"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// tens are the languages of the plugins in testdata/ten, and what the log has of a function boom that broke.
var tens = map[string]string{
	"go":     "main.boom(",
	"node":   "at boom",
	"python": "in boom",
}

// tenCalls are what each of the plugins is asked, in this order, and what it answers, as [taken.String] writes it.
var tenCalls = []struct{ tool, arguments, want string }{
	{"echo", `{"text":"é \"1\" <b>\n"}`, `text {"text":"é \"1\" <b>\n"}` + "\n" + `structured {"text":"é \"1\" <b>\n"}`},
	{"add", `{"a":2}`, "text {\"sum\":3}\nstructured {\"sum\":3}"},
	{"add", `{"a":2,"b":40}`, "text {\"sum\":42}\nstructured {\"sum\":42}"},
	{"fail", `{"code":"unavailable","retry_after":1.5}`, "error unavailable: tool fail execution failed: as you asked (do not ask), retry after 1.5s"},
	{"fail", `{"code":"already_exists"}`, "error already_exists: tool fail execution failed: as you asked (do not ask)"},
	{"count", `{"n":3}`, "progress 3/3\ndeltas 1 2 3 \ntext 1 2 3 \ntext {\"n\":3}\nstructured {\"n\":3}"},
	{"remember", `{"value":"apple"}`, ""},
	{"recall", `{}`, "text {\"value\":\"apple\"}\nstructured {\"value\":\"apple\"}"},
	{"ask", `{"question":"Now?"}`, "asked Tool ask of plugin ten asks: Now?\ntext {\"answer\":\"decline\"}\nstructured {\"answer\":\"decline\"}"},
	{"configured", `{}`, "text {\"greeting\":\"moin\"}\nstructured {\"greeting\":\"moin\"}"},
	{"change", `{"path":"a b"}`, "preview would change a b\ntext changed a b"},
}

// The same calls to a plugin in each language have the same answers.
func TestTen(t *testing.T) {
	t.Parallel()
	for language, trace := range tens {
		t.Run(language, func(t *testing.T) {
			t.Parallel()
			var log logbook
			h := open(t, buildTen(t, language), t.TempDir(), host.WithLogger(hclog.New(&hclog.LoggerOptions{Output: &log, Level: hclog.Debug})),
				host.WithPluginSettings(func(_ string, s *plugin.Settings) { s.Config = []byte(`{"greeting":"moin"}`) }),
				host.WithOverrides(map[string]host.Override{"change": {Approval: policy.Ask}}))
			s := h.Session()
			for _, c := range tenCalls {
				if got := take(t, s, tool.Call{Name: c.tool, Arguments: []byte(c.arguments)}); got != c.want {
					t.Errorf("%s %s:\n%s\nwant\n%s", c.tool, c.arguments, got, c.want)
				}
			}
			other := h.Session()
			assert.Containsf(t, take(t, other, tool.Call{Name: "recall"}), `{"value":""}`, "another session recalls")
			require.NoError(t, s.Close(t.Context()))
			log.awaits(t, "forgot apple")
			cancels(t, other)
			log.awaits(t, "woken")
			if got := take(t, other, tool.Call{Name: "boom"}); !strings.HasPrefix(got, "error tool_failed: tool boom execution failed: ") || !strings.HasSuffix(got, "boom") {
				t.Errorf("boom: %s", got)
			}
			log.awaits(t, trace)
			if status := h.Plugins()[0]; status.Carrier != plugin.Socket || status.Starts != 1 {
				t.Errorf("its calls travel by %s, and it was started %d times", status.Carrier, status.Starts)
			}
		})
	}
}

// buildTen returns a directory with the plugin of a language: a new project with its file in place of what
// toolhost dev new wrote.
func buildTen(t *testing.T, language string) string {
	t.Helper()
	if language == "go" {
		dir := t.TempDir()
		program := filepath.Join(binaries.Build(t, "internal/test/languages/testdata/ten/go/ten"), "ten")
		binaries.Install(t, program, filepath.Join(dir, "ten"))
		return dir
	}
	return filepath.Join(built(t, language, "ten", filepath.Join("testdata/ten", language, languages[language].example)).dir, "bin")
}

// built is a new project, built with a file in place of its example.
func built(t *testing.T, language, name, file string) project {
	t.Helper()
	l := languages[language]
	if missing := l.needs(); missing != "" {
		t.Skip("needs " + missing)
	}
	p := prepared(t, language, name)
	text := require.Must(os.ReadFile(file))(t)
	require.NoError(t, os.WriteFile(filepath.Join(p.dir, l.example), text, 0o600))
	p.run(t, "build")
	return p
}

// take makes a call as one who answers, approves and listens, and returns all that came of it, as lines.
func take(t *testing.T, s *host.Session, c tool.Call) string {
	t.Helper()
	var mu sync.Mutex
	var lines []string
	add := func(format string, args ...any) {
		mu.Lock()
		defer mu.Unlock()
		lines = append(lines, strings.ReplaceAll(fmt.Sprintf(format, args...), "\n", " "))
	}
	var done, deltas string
	_, res, err := s.CallWith(t.Context(), c, host.CallOptions{
		Progress: func(p tool.Progress) { done = fmt.Sprintf("%v/%v", p.Done, p.Total) },
		Deltas:   func(d tool.Delta) { deltas += d.Text },
		Asker: func(_ context.Context, q tool.Question) (tool.Answer, error) {
			add("asked %s", q.Message)
			return tool.Answer{Action: tool.Decline}, nil
		},
		Approver: policy.ApproverFunc(func(ctx context.Context, r policy.Request) (policy.Decision, error) {
			preview, err := r.Preview(ctx)
			add("preview %s", preview.Text())
			return policy.Decision{Verdict: policy.Allow}, err
		}),
	})
	if done != "" {
		add("progress %s", done)
	}
	if deltas != "" {
		add("deltas %s", deltas)
	}
	for _, c := range res.Content {
		add("text %s", c.(tool.TextContent).Text)
	}
	if len(res.Structured) > 0 {
		add("structured %s", res.Structured)
	}
	if e := tool.AsError(err); e != nil {
		text := fmt.Sprintf("error %s: %v", e.Code, e)
		if e.RetryAfter > 0 {
			text += fmt.Sprintf(", retry after %v", time.Duration(e.RetryAfter))
		}
		add("%s", text)
	}
	return strings.Join(lines, "\n")
}

// cancels gives a call up once it has begun.
func cancels(t *testing.T, s *host.Session) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	_, _, err := s.CallWith(ctx, tool.Call{Name: "sleep", Arguments: []byte(`{"seconds":3600}`)}, host.CallOptions{
		Progress: func(tool.Progress) { cancel() },
	})
	assert.Equalf(t, tool.CodeOf(err), tool.CodeCanceled, "a call that was cancelled: %v", err)
}

// logbook is the log of a host, which a test waits for.
type logbook struct {
	mu    sync.Mutex
	text  strings.Builder
	grown chan struct{}
}

func (l *logbook) Write(b []byte) (int, error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.grown != nil {
		close(l.grown)
		l.grown = nil
	}
	return l.text.Write(b)
}

// awaits returns once the log has a text.
func (l *logbook) awaits(t *testing.T, text string) {
	t.Helper()
	late := time.After(ceiling)
	for {
		l.mu.Lock()
		said := l.text.String()
		if l.grown == nil {
			l.grown = make(chan struct{})
		}
		grown := l.grown
		l.mu.Unlock()
		if strings.Contains(said, text) {
			return
		}
		select {
		case <-grown:
		case <-late:
			t.Fatalf("the log does not have %q:\n%s", text, said)
		}
	}
}
