package mcpclient

import (
	"encoding/json"
	"fmt"
	"net/http"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
)

// A server may end the stream of a call before its result, which then comes by another.
func TestResultOfResumedStream(t *testing.T) {
	t.Parallel()
	asked := make(chan any, 1)
	l, _, _ := onHTTPServer(t, http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.Method == http.MethodGet {
			if r.Header.Get("Last-Event-Id") == "" {
				w.WriteHeader(http.StatusMethodNotAllowed)
				return
			}
			w.Header().Set("Content-Type", "text/event-stream")
			id, _ := json.Marshal(<-asked)
			_, _ = fmt.Fprintf(w, "id: 2\ndata: {\"jsonrpc\":\"2.0\",\"id\":%s,\ndata: \"result\":"+
				"{\"content\":[{\"type\":\"text\",\"text\":\"late\"}]}}\n\n", id)
			return
		}
		var m json.RawMessage
		_ = json.NewDecoder(r.Body).Decode(&m)
		msg, _ := jsonrpc.DecodeMessage(m)
		q, ok := msg.(*jsonrpc.Request)
		if !ok || !q.IsCall() {
			w.WriteHeader(http.StatusAccepted)
			return
		}
		result := `{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`
		switch q.Method {
		case "tools/list":
			result = oneTool
		case "tools/call":
			asked <- q.ID.Raw()
			w.Header().Set("Content-Type", "text/event-stream")
			_, _ = w.Write([]byte("id: 1\nretry: 1\ndata:\n\n"))
			return
		}
		w.Header().Set("Content-Type", "application/json")
		id, _ := json.Marshal(q.ID.Raw())
		_, _ = fmt.Fprintf(w, `{"jsonrpc":"2.0","id":%s,"result":%s}`, id, result)
	}), func(c *Config) { c.Version = lastWithSessions })
	if res := execute(t, l, within(t), "srv.t", `{}`); res.Text() != "late" {
		t.Errorf("the result is %q", res.Text())
	}
}
