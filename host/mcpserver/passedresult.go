package mcpserver

import (
	"encoding/json"
	"slices"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/internal/mcpjson"
)

// passedResult is a result whose members are JSON already, those of a mounted server as it sent
// them.
type passedResult struct {
	mcp.ResultBase
	members    []mcpjson.Member
	passedMeta json.RawMessage // the "_meta" of the mounted server
}

// MarshalJSON implements [json.Marshaler].
func (r *passedResult) MarshalJSON() ([]byte, error) {
	members := r.members
	if len(r.passedMeta)+len(r.Meta) > 0 {
		meta, err := json.Marshal(joinedMeta{r.passedMeta, &r.ResultBase})
		if err != nil {
			return nil, err
		}
		members = append(slices.Clip(members), mcpjson.Member{Key: "_meta", Value: meta})
	}
	return mcpjson.EncodeObject(members), nil
}

// passed returns the result of a mounted server for the client, with members of this server's in
// place of its own.
func (at *request) passed(result json.RawMessage, ours ...mcpjson.Member) mcp.Result {
	if at.latest {
		ours = append(ours, mcpjson.Member{Key: "resultType", Value: quoted(resultComplete)})
	}
	out := &passedResult{}
	for _, m := range mcpjson.ObjectOf(mcpjson.Scrubbed(result)) {
		switch m.Key {
		case "_meta":
			out.passedMeta = mcpjson.Unreserved(m.Value)
		case "resultType", "inputRequests", "requestState":
		default:
			if !slices.ContainsFunc(ours, func(o mcpjson.Member) bool { return o.Key == m.Key }) {
				out.members = append(out.members, m)
			}
		}
	}
	out.members = append(out.members, ours...)
	return out
}

func quoted(s string) json.RawMessage {
	b, _ := json.Marshal(s) // a string
	return b
}
