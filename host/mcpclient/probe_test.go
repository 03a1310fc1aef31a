package mcpclient

import (
	"encoding/json"
	"testing"
	"testing/synctest"
	"time"
)

// A program that leaves server/discover unanswered is asked for the revisions before soon, and one that is
// slow with all its answers keeps the newest. Nothing is cancelled, which neither expects.
func TestBothRevisionsAreAsked(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		answers bool // server/discover, but not before there is another request
		sdk     string
	}{
		"mute": {false, "mcp/2025-11-25"},
		"slow": {true, "mcp/2026-07-28"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			synctest.Test(t, func(t *testing.T) {
				began := time.Now()
				l, _, _ := mountRaw(t, upstream(t, nil), func(s *rawServer) {
					listsOne(s, nil)
					var first json.RawMessage
					s.methods["server/discover"] = func(id, _ json.RawMessage) { first = id }
					s.methods["notifications/cancelled"] = func(_, params json.RawMessage) { t.Errorf("a request was cancelled: %s", params) }
					if c.answers {
						s.methods["initialize"] = func(id, _ json.RawMessage) {
							s.result(first, `{"supportedVersions":["2026-07-28"],"capabilities":{"tools":{}},`+
								`"serverInfo":{"name":"raw","version":"1"},"resultType":"complete","ttlMs":0,"cacheScope":"private"}`)
							s.write(`{"jsonrpc":"2.0","id":` + string(id) + `,"error":{"code":-32600,"message":"twice"}}`)
						}
					}
				})
				if took := time.Since(began); took > 2*aloneTime || l.Description().SDK != c.sdk {
					t.Errorf("after %v: %s", took, l.Description().SDK)
				}
			})
		})
	}
}
