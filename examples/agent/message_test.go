package main

import (
	"net/http"
	"strings"
	"testing"
)

// Servers add members of their own to what the model says and may want them back;
// some leave out a call's type.
func TestReplayKeepsUnknownMembers(t *testing.T) {
	t.Parallel()
	s := newStub(t, answers(http.StatusOK, "application/json", `{"choices": [{"index": 0, "finish_reason": "stop", "message": {
		"role": "assistant", "content": null, "reasoning_content": "Let me think.",
		"tool_calls": [
			{"id": "a", "type": "function", "function": {"name": "text_echo", "arguments": "{\"text\":\"x\"}"}, "extra_content": {"signature": "s1"}},
			{"id": "b", "function": {"name": "text_echo", "arguments": "{\"text\":\"y\"}"}}
		]}}]}`), says("Done."))
	if _, err := newAgent(t, s, echo("text.echo")).Run(t.Context(), "Go."); err != nil {
		t.Fatal(err)
	}
	asked := s.requests(t, 2)[1]
	for _, text := range []string{`"reasoning_content":"Let me think."`, `"extra_content":{"signature":"s1"}`} {
		if !strings.Contains(asked.text, text) {
			t.Errorf("%s lacks %s", asked.text, text)
		}
	}
	if m := asked.Messages; len(m) != 4 || len(m[1].ToolCalls) != 2 || m[1].ToolCalls[1].ID != "b" || m[3].ToolCallID != "b" || m[3].Content != "echo y" {
		t.Errorf("messages %+v", m)
	}
}
