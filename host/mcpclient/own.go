package mcpclient

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"

	"github.com/modelcontextprotocol/go-sdk/mcp"

	"github.com/toolhost/toolhost/host/internal/mcpwire"
	"github.com/toolhost/toolhost/internal/callstage"
	"github.com/toolhost/toolhost/internal/mcpjson"
	"github.com/toolhost/toolhost/internal/mcpmeta"
	"github.com/toolhost/toolhost/internal/pluginrun"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

var _ pluginrun.Own = (*Upstream)(nil)

// ownTool is one of the host's own tools.
type ownTool struct {
	has                     func(*mcp.ServerCapabilities) bool // whether a server has what it is for
	lists                   []mcpwire.Kind                     // what its definition pins
	title, says, properties string
	required                string // the names of its arguments that have to be there, as JSON
}

const uriArgument = `"uri":{"type":"string","minLength":1,"description":"The resource's URI."}`

var ownTools = map[mcpwire.Own]ownTool{
	mcpwire.Read: {
		hasResources, []mcpwire.Kind{mcpwire.Templates, mcpwire.Resources}, "Read a resource",
		"Reads a resource of the MCP server %s. One that the server lists, or has named in an answer to the session, is " +
			"cautious to read; any other is dangerous.",
		uriArgument, `"uri"`,
	},
	mcpwire.Subscribe: {
		func(c *mcp.ServerCapabilities) bool { return hasResources(c) && c.Resources.Subscribe }, nil,
		"Subscribe to a resource", "Follows the changes of a resource of the MCP server %s, for a client that listens to them. " +
			"The levels are those of reading it.",
		uriArgument, `"uri"`,
	},
	mcpwire.Prompt: {
		hasPrompts, []mcpwire.Kind{mcpwire.Prompts}, "Get a prompt", "Gets a prompt of the MCP server %s.",
		`"name":{"type":"string","minLength":1,"description":"The prompt's name."},` +
			`"arguments":{"type":"object","additionalProperties":{"type":"string"},"description":"The prompt's arguments."}`,
		`"name"`,
	},
	mcpwire.Complete: {
		hasCompletions, nil, "Complete an argument",
		"Asks the MCP server %s how an argument of a prompt or of a resource template may go on.",
		`"ref":{"type":"object","description":"The prompt or template, as completion/complete of MCP has it."},` +
			`"argument":{"type":"object","description":"The argument's name, and what there is of its value."},` +
			`"context":{"type":"object","description":"The arguments that are known."}`,
		`"ref","argument"`,
	},
}

// ownDefinitions returns the definitions of the host's own tools for a server.
func (l *link) ownDefinitions() []tool.Definition {
	about := l.session.InitializeResult()
	if about == nil || about.Capabilities == nil {
		return nil
	}
	var out []tool.Definition
	for _, own := range mcpwire.Owns {
		t := ownTools[own]
		if !t.has(about.Capabilities) {
			continue
		}
		out = append(out, tool.Definition{
			Name: own.Of(l.u.config.Name), Title: t.title, Description: fmt.Sprintf(t.says, l.u.config.Name), Safety: own.Safety(),
			InputSchema: tool.Schema(`{"type":"object","properties":{` + t.properties + `},"required":[` + t.required +
				`],"additionalProperties":false}`),
			Meta: l.pins(t.lists),
		})
	}
	return out
}

// pins returns what the server lists of some kinds, as the "_meta" of the tool that reaches it: so it is
// remembered, recorded and pinned with the server's definitions, and what changes is noticed as they are. Of
// resources it has the pages in which tools are shown, which say what a page may do. Others are files, rows or
// messages, which come and go as people work: whoever accepted them would have to accept them each minute, and soon
// would without reading. What is read is judged by each call instead, and what hides something is in no list.
func (l *link) pins(which []mcpwire.Kind) json.RawMessage {
	var out []mcpjson.Member
	for _, of := range which {
		all := map[string]json.RawMessage{}
		for _, one := range l.u.kept[of].last(maxTools) {
			all[one.Key] = one.Raw
		}
		if of == mcpwire.Resources {
			pages := l.toolPages()
			maps.DeleteFunc(all, func(uri string, _ json.RawMessage) bool { return !pages[uri] })
		}
		if len(all) == 0 {
			continue
		}
		text, err := json.Marshal(all)
		m := mcpjson.Member{Key: "toolhost/" + string(of), Value: text}
		if err != nil || len(text) > maxPinned || mcpmeta.Check(mcpjson.EncodeObject([]mcpjson.Member{m})) != nil {
			sum := sha256.Sum256(text)
			m.Value = json.RawMessage(`"sha256:` + hex.EncodeToString(sum[:]) + `"`)
		}
		out = append(out, m)
	}
	if out == nil {
		return nil
	}
	return mcpjson.EncodeObject(out)
}

// own returns which of the host's own tools a tool is; empty: it is the server's.
func (u *Upstream) own(name string) mcpwire.Own {
	theirs, ok := strings.CutPrefix(name, u.config.Name+".")
	if !ok || !mcpwire.IsOwn(theirs) {
		return ""
	}
	return mcpwire.Own(theirs)
}

// IsOwn implements [pluginrun.Own].
func (u *Upstream) IsOwn(name string) bool { return u.own(name) != "" }

// IsDangerous implements [pluginrun.Own]: what is read or followed is dangerous, unless the server has
// listed it, or named it to the session.
func (u *Upstream) IsDangerous(ctx context.Context, call tool.Call) bool {
	own := u.own(call.Name)
	if own != mcpwire.Read && own != mcpwire.Subscribe {
		return false
	}
	var in mcp.ReadResourceParams
	return json.Unmarshal(call.Arguments, &in) != nil || !u.knows(ctx, call.Session, in.URI)
}

func (u *Upstream) knows(ctx context.Context, session, uri string) bool {
	if (source{u}).Named(session, uri) {
		return true
	}
	listed, err := source{u}.List(ctx, mcpwire.Resources)
	return err == nil && slices.ContainsFunc(listed, func(i mcpwire.Item) bool { return i.Key == uri })
}

// Named implements [mcpwire.Source].
func (u source) Named(session, uri string) bool {
	if u.named.has(session, uri) {
		return true
	}
	u.mu.Lock()
	l := u.link
	u.mu.Unlock()
	return l != nil && l.toolPages()[uri]
}

// toolPages are the resources in which tools are shown.
func (l *link) toolPages() map[string]bool {
	out := map[string]bool{}
	for _, d := range l.listed.Load().tools {
		if page := pageOf(d); page != "" {
			out[page] = true
		}
	}
	return out
}

// pageOf returns the page that a tool of an MCP App is shown in; empty: it has none.
func pageOf(d tool.Definition) string {
	var meta struct {
		UI struct {
			Page string `json:"resourceUri"`
		} `json:"ui"`
		Page string `json:"ui/resourceUri"` // as it was written first
	}
	if len(d.Meta) == 0 || json.Unmarshal(d.Meta, &meta) != nil {
		return ""
	}
	if meta.UI.Page != "" {
		return meta.UI.Page
	}
	return meta.Page
}

// executeOwn runs a call of one of the host's own tools.
func (l *link) executeOwn(ctx context.Context, own mcpwire.Own, call tool.Call) (tool.Result, error) {
	raw := json.RawMessage("{}")
	var in struct {
		URI       string                     `json:"uri"`
		Name      string                     `json:"name"`
		Arguments map[string]string          `json:"arguments"`
		Ref       *mcp.CompleteReference     `json:"ref"`
		Argument  mcp.CompleteParamsArgument `json:"argument"`
		Context   *mcp.CompleteContext       `json:"context"`
	}
	err := json.Unmarshal(call.Arguments, &in)
	if err != nil {
		return tool.Result{}, tool.Errorf(tool.CodeInvalidArguments, "Invalid tool call: %v", err).
			Of(call.Name, l.u.config.Name).At(callstage.Execute).NeverSent()
	}
	if own == mcpwire.Subscribe {
		err = l.subscribe(ctx, in.URI)
	} else {
		raw, err = l.rounds(ctx, call.Session, func(open *openCall, meta mcp.Meta, to answers) (err error) {
			ctx := open.ctx
			switch own {
			case mcpwire.Read:
				_, err = l.session.ReadResource(ctx, &mcp.ReadResourceParams{
					Meta: meta, URI: in.URI, InputResponses: to.responses, RequestState: to.state,
				})
			case mcpwire.Prompt:
				_, err = l.session.GetPrompt(ctx, &mcp.GetPromptParams{
					Meta: meta, Name: in.Name, Arguments: in.Arguments, InputResponses: to.responses, RequestState: to.state,
				})
			default:
				_, err = l.session.Complete(ctx, &mcp.CompleteParams{
					Meta: meta, Argument: in.Argument, Context: in.Context, Ref: in.Ref,
				})
			}
			return err
		})
	}
	if err != nil {
		return tool.Result{}, l.failure(ctx, call, err)
	}
	l.u.named.addOwn(call.Session, raw)
	return tool.Result{Structured: raw}, nil
}
