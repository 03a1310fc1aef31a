package mcpclient

import (
	"encoding/json"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// A program that leaves server/discover unanswered is asked for the revisions before soon, and one that is
// slow with all its answers keeps the newest. Nothing is cancelled, which neither expects.
func TestBothRevisionsAreAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers string // to initialize, before that to server/discover; empty: neither is special
		behind  bool   // the answer to server/discover comes second
		sdk     string
	}{
		"mute":   {"", false, "mcp/2025-11-25"},
		"slow":   {`"error":{"code":-32600,"message":"twice"}`, false, "mcp/2026-07-28"},
		"behind": {`"result":{"protocolVersion":"2025-11-25","capabilities":{"tools":{}},"serverInfo":{"name":"raw","version":"1"}}`, true, "mcp/2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
					listsOne(s, func(id, _ json.RawMessage) {
						s.result(id, `{"isError":true,"content":[{"type":"text","text":"elicitation/create cannot be sent while serving a request on protocol version 2026-07-28"}]}`)
					})
					var first json.RawMessage
					s.methods["server/discover"] = func(id, _ json.RawMessage) { first = id }
					s.methods["notifications/cancelled"] = func(_, params json.RawMessage) { t.Errorf("a request was cancelled: %s", params) }
					if c.answers != "" {
						s.methods["initialize"] = func(id, _ json.RawMessage) {
							if c.behind {
								s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,` + c.answers + `}`)
							}
							s.result(first, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},`+
								`"serverInfo":{"name":"raw","version":"1"},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
							if !c.behind {
								s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,` + c.answers + `}`)
							}
						}
					}
				})
				if took := time.Since(began); took > 2*aloneTime || l.Description().SDK != c.sdk {
					t.Errorf("after %v: %s", took, l.Description().SDK)
				}
				// Also a session of which the server believes that it has none is begun again, with one.
				_, err := l.Execute(t.Context(), tool.Call{Name: "srv.t"})
				if tool.CodeOf(err) != tool.CodeUnavailable || !strings.Contains(err.Error(), "needs a session") {
					t.Errorf("the call ends with %v", err)
				}
			})
		})
	}
}
