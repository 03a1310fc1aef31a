package mcpserver

import (
	"context"
	"encoding/json"
	"io"
	"strings"
	"testing"

	"github.com/modelcontextprotocol/go-sdk/jsonrpc"
	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host"
	"github.com/toolhost/toolhost/internal/test/assert"
	"github.com/toolhost/toolhost/internal/test/require"
)

// What the SDK would refuse, or decide by, stays its own.
func TestDecodedCalls(t *testing.T) {
	t.Parallel()
	id := require.Must(jsonrpc.MakeID("a"))(t)
	for params, decoded := range map[string]bool{
		`{"name":"x","arguments":{"n":9007199254740993}}`: true,
		`{}`: true,
		`{"_meta":{"progressToken":1},"name":"x"}`:                                            true,
		`{"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28"},"name":"x"}`:       false,
		`{"_meta":{"io.modelcontextprotocol\/protocolV\u0065rsion":"2026-07-28"},"name":"x"}`: false,
		`{"name":1}`: false, `{"_meta":1}`: false, `null`: false, `[]`: false, ``: false, `{"inputResponses":{"a":1}}`: false,
	} {
		r := &jsonrpc.Request{ID: id, Method: "tools/call", Params: json.RawMessage(params)}
		got := decode(r)
		assert.Equalf(t, got != r, decoded, "%s", params)
		if !decoded {
			continue
		}
		extra, _ := got.Extra.(*mcp.RequestExtra)
		call := decodedCall(&mcp.ServerRequest[*decodedParams]{Extra: extra})
		var want mcp.CallToolParamsRaw
		require.NoError(t, json.Unmarshal(r.Params, &want))
		assert.Equal(t, jsonOf(t, call.Params), jsonOf(t, want))
	}
	for _, r := range []*jsonrpc.Request{
		{Method: "tools/call", Params: json.RawMessage(`{}`)}, {ID: id, Method: "tools/list", Params: json.RawMessage(`{}`)},
	} {
		assert.Equal(t, decode(r), r)
	}
}

func jsonOf(t *testing.T, v any) string {
	t.Helper()
	return string(require.Must(json.Marshal(v))(t))
}

// The method that calls of tools have on their way is none of a client's.
func TestDecodedIsNoMethod(t *testing.T) {
	t.Parallel()
	h := require.Must(host.New())(t)
	s := require.Must(New(h, Options{
		Session: func(context.Context, Client) (*host.Session, error) { return h.Session(), nil },
	}))(t)
	in, feed := io.Pipe()
	answers, out := io.Pipe()
	ended := make(chan error, 1)
	go func() { ended <- s.Run(t.Context(), &StdioTransport{In: in, Out: out}) }()
	read := json.NewDecoder(answers)
	for _, exchange := range [][2]string{
		{`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-11-25","capabilities":{},` +
			`"clientInfo":{"name":"a","version":"1"}}}`, `"serverInfo"`},
		{`{"jsonrpc":"2.0","id":2,"method":"toolhost/decoded","params":{"name":"x"}}`, `-32601`},
		{`{"jsonrpc":"2.0","id":3,"method":"toolhost/decoded"}`, `-32601`},
		{`{"jsonrpc":"2.0","id":4,"method":"tools/call","params":{"name":"x"}}`, `Unknown tool: x`},
		{`{"jsonrpc":"2.0","id":5,"method":"tools/call"}`, `missing required`},
	} {
		_, err := io.WriteString(feed, exchange[0]+"\n")
		require.NoError(t, err)
		var answer json.RawMessage
		require.NoError(t, read.Decode(&answer))
		if !strings.Contains(string(answer), exchange[1]) {
			t.Errorf("%s is answered by %s", exchange[0], answer)
		}
	}
	_ = feed.Close()
	require.NoError(t, <-ended)
	require.NoError(t, h.Close(t.Context()))
}
