package main

import (
	"encoding/json"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"
)

// stub is a chat completions API that answers as a script says, and keeps what it
// was asked.
type stub struct {
	url   string
	mu    sync.Mutex
	asked []request
}

// request is what the client really sent.
type request struct {
	Model    string    `json:"model"`
	Messages []message `json:"messages"`
	Tools    []offered `json:"tools"`

	text   string
	header http.Header
}

type message struct {
	Role       string     `json:"role"`
	Content    string     `json:"content"`
	ToolCallID string     `json:"tool_call_id,omitempty"`
	ToolCalls  []toolCall `json:"tool_calls,omitempty"`
}

type toolCall struct {
	ID       string   `json:"id"`
	Type     string   `json:"type"`
	Function function `json:"function"`
}

type function struct {
	Name      string `json:"name"`
	Arguments string `json:"arguments"`
}

type offered struct {
	Type     string `json:"type"`
	Function struct {
		Name        string          `json:"name"`
		Description string          `json:"description"`
		Parameters  json.RawMessage `json:"parameters"`
	} `json:"function"`
}

// turn answers one request.
type turn func(http.ResponseWriter, *http.Request)

// newStub serves one turn a request; more requests than turns fail the test.
func newStub(t *testing.T, script ...turn) *stub {
	t.Helper()
	s := &stub{}
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method != http.MethodPost || r.URL.Path != "/v1/chat/completions" {
			t.Errorf("the client sent %s %s", r.Method, r.URL.Path)
		}
		text, err := io.ReadAll(r.Body)
		req := request{text: string(text), header: r.Header}
		if err != nil || json.Unmarshal(text, &req) != nil {
			t.Errorf("the client sent %s (%v)", text, err)
		}
		s.mu.Lock()
		s.asked = append(s.asked, req)
		n := len(s.asked)
		s.mu.Unlock()
		if n > len(script) {
			t.Errorf("request %d, the script has %d: %s", n, len(script), text)
			fails(http.StatusBadRequest, "the script is over")(w, r)
			return
		}
		script[n-1](w, r)
	}))
	t.Cleanup(server.Close)
	s.url = server.URL + "/v1"
	return s
}

// requests are all that was asked, which have to be so many.
func (s *stub) requests(t *testing.T, want int) []request {
	t.Helper()
	s.mu.Lock()
	defer s.mu.Unlock()
	if len(s.asked) != want {
		t.Fatalf("the client sent %d requests, want %d", len(s.asked), want)
	}
	return s.asked
}

// last is the content of the message at the end of a request.
func (r request) last() message { return r.Messages[len(r.Messages)-1] }

// names are what the request offers.
func (r request) names() []string {
	var out []string
	for _, o := range r.Tools {
		out = append(out, o.Function.Name)
	}
	return out
}

// answers sends a body as it is.
func answers(status int, contentType, body string) turn {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.Header().Set("Content-Type", contentType)
		w.Header().Set("Retry-After-Ms", "1") // so that the client's retries cost no time
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

func chooses(finish string, m any) turn {
	text, err := json.Marshal(map[string]any{
		"id": "chatcmpl-1", "object": "chat.completion", "created": 1, "model": "stub",
		"choices": []any{map[string]any{"index": 0, "finish_reason": finish, "message": m}},
	})
	if err != nil {
		panic(err)
	}
	return answers(http.StatusOK, "application/json", string(text))
}

func says(text string) turn { return chooses("stop", message{Role: "assistant", Content: text}) }

// wants has the model call tools.
func wants(text string, calls ...toolCall) turn {
	return chooses("tool_calls", message{Role: "assistant", Content: text, ToolCalls: calls})
}

func call(id, name, arguments string) toolCall {
	return toolCall{ID: id, Type: "function", Function: function{name, arguments}}
}

func fails(status int, text string) turn {
	body, err := json.Marshal(map[string]any{"error": map[string]any{"message": text, "type": "error", "code": "stub"}})
	if err != nil {
		panic(err)
	}
	return answers(status, "application/json", string(body))
}

// after does something before the answer goes out.
func after(do func(), then turn) turn {
	return func(w http.ResponseWriter, r *http.Request) {
		do()
		then(w, r)
	}
}
