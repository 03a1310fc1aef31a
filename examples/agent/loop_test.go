package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"reflect"
	"slices"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/option"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/pluginsdk"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

type words struct {
	Text string `json:"text"`
}

// echo is a tool that answers what it is told.
func echo(name string) tool.Tool {
	return pluginsdk.Func(name, "Says it again.", func(_ context.Context, in words) (string, error) { return "echo " + in.Text, nil }, pluginsdk.Safe())
}

// newAgent works with these tools, asks the stub, and repeats a refused request
// once.
func newAgent(t *testing.T, s *stub, tools ...tool.Tool) *Agent {
	t.Helper()
	client := openai.NewClient(option.WithBaseURL(s.url), option.WithAPIKey("test-key"), option.WithMaxRetries(1))
	return &Agent{Client: client, Model: "stub", Session: newHost(t, tools...).Session()}
}

func newHost(t *testing.T, tools ...tool.Tool) *host.Host {
	t.Helper()
	h, err := host.New(host.WithRoot(t.TempDir()))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := h.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	for _, tl := range tools {
		if err := h.Register(tl); err != nil {
			t.Fatal(err)
		}
	}
	return h
}

// messages is a transcript as JSON has it.
func (a Answer) messages(t *testing.T) []message {
	t.Helper()
	text, err := json.Marshal(a.Transcript)
	if err != nil {
		t.Fatal(err)
	}
	var out []message
	if err := json.Unmarshal(text, &out); err != nil {
		t.Fatal(err)
	}
	return out
}

// What the client really sends: tools under their aliases with their schemas, and
// outcomes as messages that belong to their calls.
func TestRun(t *testing.T) {
	t.Parallel()
	schema := `{"type": "object", "properties": {"n": {"type": "integer", "maximum": 9007199254740993}}, "required": ["n"]}`
	exact := tool.Tool{
		Definition: tool.Definition{Name: "num.exact", Description: "Takes a number.", InputSchema: tool.Schema(schema), Safety: tool.Safe},
		Handler:    func(context.Context, tool.Call) (tool.Result, error) { return tool.Text("taken"), nil },
	}
	s := newStub(t, wants("Let me see.", call("call_7", "text_echo", `{"text":"hi"}`)), says("It said hi."))
	answer, err := newAgent(t, s, echo("text.echo"), exact).Run(t.Context(), "Say hi.")
	if err != nil || answer.Text != "It said hi." {
		t.Fatalf("%+v, %v", answer, err)
	}
	asked := s.requests(t, 2)
	for _, r := range asked {
		if r.Model != "stub" || r.header.Get("Authorization") != "Bearer test-key" || !slices.Equal(r.names(), []string{"num_exact", "text_echo"}) {
			t.Errorf("model %q, authorization %q, tools %q", r.Model, r.header.Get("Authorization"), r.names())
		}
	}
	if first := asked[0].Tools[0]; first.Type != "function" || first.Function.Description != "Takes a number." || compact(t, first.Function.Parameters) != compact(t, []byte(schema)) {
		t.Errorf("offered %+v with %s", first, first.Function.Parameters)
	}
	want := []message{
		{Role: "user", Content: "Say hi."},
		{Role: "assistant", Content: "Let me see.", ToolCalls: []toolCall{call("call_7", "text_echo", `{"text":"hi"}`)}},
		{Role: "tool", Content: "echo hi", ToolCallID: "call_7"},
		{Role: "assistant", Content: "It said hi."},
	}
	for i, got := range [][]message{asked[0].Messages, asked[1].Messages, answer.messages(t)} {
		if n := []int{1, 3, 4}[i]; !reflect.DeepEqual(got, want[:n]) {
			t.Errorf("messages %+v\nwant %+v", got, want[:n])
		}
	}
}

func compact(t *testing.T, text []byte) string {
	t.Helper()
	out, err := json.Marshal(json.RawMessage(text))
	if err != nil {
		t.Fatal(err)
	}
	return string(out)
}

// A host with no tools is an agent that talks; the list is left out, as servers
// refuse an empty one.
func TestNoTools(t *testing.T) {
	t.Parallel()
	s := newStub(t, says("Hello."))
	if answer, err := newAgent(t, s).Run(t.Context(), "Hello?"); err != nil || answer.Text != "Hello." {
		t.Fatalf("%+v, %v", answer, err)
	}
	if text := s.requests(t, 1)[0].text; strings.Contains(text, "tools") {
		t.Errorf("sent %s", text)
	}
}

// The model is offered what its session sees, and nothing else.
func TestOffersTheSessionsTools(t *testing.T) {
	t.Parallel()
	s := newStub(t, says("Hello."))
	agent := newAgent(t, s)
	agent.Session = newHost(t, echo("text.echo"), echo("text.hidden")).Session(host.WithVisible(func(d tool.Definition) bool { return d.Name != "text.hidden" }))
	if _, err := agent.Run(t.Context(), "Hello?"); err != nil {
		t.Fatal(err)
	}
	if got := s.requests(t, 1)[0].names(); !slices.Equal(got, []string{"text_echo"}) {
		t.Errorf("offered %q", got)
	}
}

// Whatever goes wrong with a call, the model reads it and goes on.
func TestFailuresAreMessages(t *testing.T) {
	t.Parallel()
	fail := pluginsdk.Func("text.fail", "Fails.", func(context.Context, words) (string, error) { return "", errors.New("no luck") }, pluginsdk.Safe())
	guarded := pluginsdk.Func("text.guarded", "Needs a grant.", func(context.Context, words) (string, error) { return "", nil }, pluginsdk.Safe(), pluginsdk.Permission(tool.FSRead))
	harmful := pluginsdk.Func("text.harm", "Does harm.", func(context.Context, words) (string, error) { return "", nil })
	steps := []struct{ name, arguments, replayed, content string }{
		{"text_fail", `{"text":"x"}`, `{"text":"x"}`, "tool text_fail execution failed: no luck"},
		{"text_eco", `{"text":"x"}`, `{"text":"x"}`, "Unknown tool: text_eco"},
		{"text_echo", `{"text":`, `{}`, "Invalid tool call: "},
		{"text_echo", `["x"]`, `{}`, "Invalid tool call: "},
		{"text_echo", `null`, `{}`, "Invalid tool call: "},
		{"text_echo", `{"test":"x"}`, `{"test":"x"}`, "missing required argument: text"},
		{"text_guarded", `{"text":"x"}`, `{"text":"x"}`, "Permission denied for tool: text_guarded"},
		{"text_harm", `{"text":"x"}`, `{"text":"x"}`, "approval"},
		{"text_echo", `{"text":"at last"}`, `{"text":"at last"}`, "echo at last"},
	}
	var script []turn
	for i, step := range steps {
		script = append(script, wants("", call(fmt.Sprint("c", i), step.name, step.arguments)))
	}
	s := newStub(t, append(script, says("Done."))...)
	agent := newAgent(t, s, echo("text.echo"), fail, guarded, harmful)
	var watched []bool
	agent.Watch = func(o host.Outcome) { watched = append(watched, o.Success) }
	if answer, err := agent.Run(t.Context(), "Try."); err != nil || answer.Text != "Done." {
		t.Fatalf("%+v, %v", answer, err)
	}
	for i, r := range s.requests(t, len(steps)+1)[1:] {
		step, said, told := steps[i], r.Messages[2*i+1], r.last()
		if told.Role != "tool" || told.ToolCallID != fmt.Sprint("c", i) || !strings.Contains(told.Content, step.content) {
			t.Errorf("%s %s: the model was told %+v, want %q", step.name, step.arguments, told, step.content)
		}
		if want := call(fmt.Sprint("c", i), step.name, step.replayed); len(said.ToolCalls) != 1 || said.ToolCalls[0] != want {
			t.Errorf("the model was shown its call as %+v, want %+v", said.ToolCalls, want)
		}
		if watched[i] != (i == len(steps)-1) {
			t.Errorf("%s %s: watched as success %v", step.name, step.arguments, watched[i])
		}
	}
}

func TestSeveralCallsInOneTurn(t *testing.T) {
	t.Parallel()
	s := newStub(t, wants("", call("a", "text_echo", `{"text":"one"}`), call("b", "nothing", `{}`), call("c", "text_echo", `{"text":"three"}`)), says("Done."))
	if _, err := newAgent(t, s, echo("text.echo")).Run(t.Context(), "Go."); err != nil {
		t.Fatal(err)
	}
	told := s.requests(t, 2)[1].Messages[2:]
	for i, want := range []struct{ id, content string }{{"a", "echo one"}, {"b", "Unknown tool: nothing"}, {"c", "echo three"}} {
		if len(told) != 3 || told[i].Role != "tool" || told[i].ToolCallID != want.id || !strings.HasPrefix(told[i].Content, want.content) {
			t.Errorf("told %+v, want %+v at %d", told, want, i)
		}
	}
}

func TestLimit(t *testing.T) {
	t.Parallel()
	var ran atomic.Int32
	count := pluginsdk.Func("count", "Counts.", func(context.Context, struct{}) (string, error) { return fmt.Sprint("run ", ran.Add(1)), nil }, pluginsdk.Safe())
	again := call("c", "count", `{}`)
	s := newStub(t, wants("One.", again), wants("", again), wants("Three.", again))
	agent := newAgent(t, s, count)
	agent.MaxIterations = 3
	answer, err := agent.Run(t.Context(), "Count.")
	var limit *LimitError
	if !errors.As(err, &limit) || limit.Iterations != 3 {
		t.Fatalf("error %v", err)
	}
	if s.requests(t, 3); answer.Text != "One.\n\nThree." || ran.Load() != 3 {
		t.Errorf("text %q, %d runs", answer.Text, ran.Load())
	}
	got := answer.messages(t)
	if want := (message{Role: "tool", Content: "run 3", ToolCallID: "c"}); len(got) != 7 || !reflect.DeepEqual(got[6], want) {
		t.Errorf("the transcript %+v does not end with the last call's outcome", got)
	}
}

func TestNoLimit(t *testing.T) {
	t.Parallel()
	const turns = 40
	script := slices.Repeat([]turn{wants("", call("c", "text_echo", `{"text":"x"}`))}, turns)
	s := newStub(t, append(script, says("Done."))...)
	answer, err := newAgent(t, s, echo("text.echo")).Run(t.Context(), "Go on.")
	if err != nil || answer.Text != "Done." || len(answer.Transcript) != 2*turns+2 {
		t.Errorf("%q, %d messages, %v", answer.Text, len(answer.Transcript), err)
	}
	s.requests(t, turns+1)
}

// A tool that comes while the agent runs is there at its next turn, and one that
// goes is gone.
func TestCatalogueIsLive(t *testing.T) {
	t.Parallel()
	var h *host.Host // set before the first turn
	add := func() {
		if _, err := h.Upsert("guest", echo("guest.echo")); err != nil {
			t.Error(err)
		}
	}
	guest := call("g", "guest_echo", `{"text":"from a guest"}`)
	s := newStub(t,
		after(add, wants("", call("c", "text_echo", `{"text":"x"}`))),
		wants("", guest),
		after(func() { h.Unregister("guest") }, wants("", guest)),
		says("Done."),
	)
	h = newHost(t, echo("text.echo"))
	agent := newAgent(t, s)
	agent.Session = h.Session()
	if _, err := agent.Run(t.Context(), "Go."); err != nil {
		t.Fatal(err)
	}
	asked := s.requests(t, 4)
	for i, want := range [][]string{{"text_echo"}, {"guest_echo", "text_echo"}, {"guest_echo", "text_echo"}, {"text_echo"}} {
		if got := asked[i].names(); !slices.Equal(got, want) {
			t.Errorf("turn %d offers %q, want %q", i+1, got, want)
		}
	}
	if got := asked[2].last().Content; got != "echo from a guest" {
		t.Errorf("the new tool: %q", got)
	}
	if got := asked[3].last().Content; !strings.HasPrefix(got, "Unknown tool: guest_echo") {
		t.Errorf("the tool that is gone: %q", got)
	}
}
