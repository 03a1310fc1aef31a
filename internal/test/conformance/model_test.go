package conformance

import (
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"regexp"
	"strings"
	"sync"
	"testing"
)

// model stands for a language model: it asks for the tool that reads a file, if it is offered, and
// ends the conversation when it has the result. It is served as each provider serves theirs.
type model struct {
	*httptest.Server
	secret string        // what the file says
	read   chan struct{} // closed when the model has it
	end    chan struct{} // closed when the model may end the conversation
}

func newModel(t *testing.T, secret string) *model {
	m := &model{secret: secret, read: make(chan struct{}), end: make(chan struct{})}
	m.Server = httptest.NewServer(m.answers(t))
	t.Cleanup(m.Close)
	return m
}

const (
	readArguments = `{"path":"notes.txt"}`
	// Codex has its models write scripts, in which tools are functions.
	readScript = "text(await tools.mcp__toolhost__fs_read(" + readArguments + "))"
	lastWords  = "That was all."
)

// offered finds the tool under the name that the client gives it.
var offered = regexp.MustCompile(`"name": ?"(\w*fs_read)"`)

func (m *model) answers(t *testing.T) http.HandlerFunc {
	read := sync.OnceFunc(func() { close(m.read) })
	return func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the client has left
		}
		call, text := "", lastWords
		switch tool := offered.FindStringSubmatch(string(body)); {
		case strings.Contains(string(body), m.secret):
			read()
			select {
			case <-m.end:
			case <-r.Context().Done():
			}
		case tool != nil:
			call, text = tool[1], ""
		case strings.Contains(string(body), "mcp__toolhost"): // Codex names the servers only
			text = ""
		}
		events := map[string]func(call, text string) []string{
			"/v1/messages": anthropic, "/v1/responses": responses, "/v1/chat/completions": completions,
		}[r.URL.Path]
		if strings.HasSuffix(r.URL.Path, "GenerateContent") || strings.HasSuffix(r.URL.Path, "generateContent") {
			events = gemini
		}
		if events == nil {
			http.NotFound(w, r)
			return
		}
		all := events(call, text)
		if strings.HasSuffix(r.URL.Path, ":generateContent") {
			w.Header().Set("Content-Type", "application/json")
			_, _ = io.WriteString(w, all[0])
			return
		}
		w.Header().Set("Content-Type", "text/event-stream")
		for _, data := range all {
			var event struct{ Type string }
			if json.Unmarshal([]byte(data), &event) == nil && event.Type != "" {
				_, _ = fmt.Fprintf(w, "event: %s\n", event.Type)
			}
			_, _ = fmt.Fprintf(w, "data: %s\n\n", data)
		}
		if t.Context().Err() == nil {
			t.Logf("%s: called %q, said %q", r.URL.Path, call, text)
		}
	}
}

// Each of these returns the events of an answer, which calls the tool of a name or says a text.

func anthropic(call, text string) []string {
	block, delta, reason := `{"type":"text","text":""}`, fmt.Sprintf(`{"type":"text_delta","text":%q}`, text), "end_turn"
	if call != "" {
		block = fmt.Sprintf(`{"type":"tool_use","id":"toolu_1","name":%q,"input":{}}`, call)
		delta, reason = fmt.Sprintf(`{"type":"input_json_delta","partial_json":%q}`, readArguments), "tool_use"
	}
	return []string{
		`{"type":"message_start","message":{"id":"msg_1","type":"message","role":"assistant","model":"m","content":[],` +
			`"stop_reason":null,"stop_sequence":null,"usage":{"input_tokens":1,"output_tokens":1}}}`,
		`{"type":"content_block_start","index":0,"content_block":` + block + `}`,
		`{"type":"content_block_delta","index":0,"delta":` + delta + `}`,
		`{"type":"content_block_stop","index":0}`,
		`{"type":"message_delta","delta":{"stop_reason":"` + reason + `","stop_sequence":null},"usage":{"output_tokens":1}}`,
		`{"type":"message_stop"}`,
	}
}

func responses(_, text string) []string {
	item := fmt.Sprintf(`{"type":"message","id":"m1","role":"assistant","content":[{"type":"output_text","text":%q}]}`, text)
	if text == "" {
		item = fmt.Sprintf(`{"type":"custom_tool_call","id":"c1","call_id":"c1","name":"exec","namespace":"functions","input":%q}`, readScript)
	}
	return []string{
		`{"type":"response.created","response":{"id":"r1"}}`,
		`{"type":"response.output_item.done","output_index":0,"item":` + item + `}`,
		`{"type":"response.completed","response":{"id":"r1","usage":{"input_tokens":1,"output_tokens":1,"total_tokens":2}}}`,
	}
}

func completions(call, text string) []string {
	delta, reason := fmt.Sprintf(`{"role":"assistant","content":%q}`, text), "stop"
	if call != "" {
		delta = fmt.Sprintf(`{"role":"assistant","tool_calls":[{"index":0,"id":"c1","type":"function","function":{"name":%q,"arguments":%q}}]}`, call, readArguments)
		reason = "tool_calls"
	}
	chunk := `{"id":"1","object":"chat.completion.chunk","created":1,"model":"m","choices":[{"index":0,"delta":%s,"finish_reason":%s}]}`
	return []string{fmt.Sprintf(chunk, delta, "null"), fmt.Sprintf(chunk, "{}", `"`+reason+`"`), "[DONE]"}
}

func gemini(call, text string) []string {
	part := fmt.Sprintf(`{"text":%q}`, text)
	if call != "" {
		part = fmt.Sprintf(`{"functionCall":{"name":%q,"args":%s}}`, call, readArguments)
	}
	return []string{`{"candidates":[{"content":{"role":"model","parts":[` + part + `]},"finishReason":"STOP","index":0}],` +
		`"usageMetadata":{"promptTokenCount":1,"candidatesTokenCount":1,"totalTokenCount":2}}`}
}
