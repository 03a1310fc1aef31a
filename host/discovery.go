package host

import (
	"bytes"
	"context"
	"encoding/json"
	"fmt"

	"github.com/toolhost/toolhost/host/internal/chain"
	"github.com/toolhost/toolhost/host/internal/search"
	"github.com/toolhost/toolhost/internal/jsontree"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// The tools of a session with [WithToolSearch]. No other tool can have these names, nor their
// aliases, tools_search, tools_call and tools_read.
const (
	searchTool = "tools.search"
	callTool   = "tools.call"
	readTool   = "tools.read"
)

const (
	searchAlias = "tools_search"
	callAlias   = "tools_call"
	readAlias   = "tools_read"
)

var reserved = map[string]bool{
	searchTool: true, callTool: true, readTool: true, searchAlias: true, callAlias: true, readAlias: true,
}

// WithToolSearch lists three tools in place of all others, for more tools than a model should see at
// once: tools.search, which finds tools by words, tools.call, which calls one by its name, and
// tools.read, which calls safe ones only. A call of tools.call is one of the tool that it names: that
// tool's policies, rates and approval decide, under its own name, which is also on record. It is listed
// with the level of the most harmful tool that the caller can reach, as clients may approve what is safe
// by themselves; for these there is tools.read. Calls by a tool's own name work too. Default: false.
func WithToolSearch(on bool) SessionOption { return func(s *Session) { s.searches = on } }

// discovery is the host's own tools.
type discovery struct{ search, call, read *entry }

// newDiscovery makes the tools of a host. Their definitions are constant, and compile.
func newDiscovery(h *Host) *discovery {
	made := func(name, alias string, t tool.Tool) *entry {
		t.Name, t.Safety = name, tool.Safe
		c := &h.compiler
		d := &t.Definition
		e := &entry{
			origin: &origin{compiler: c, run: t.Handler, settings: c.defaults}, def: d, source: d, override: c.rules.Load().of(""), alias: alias,
		}
		if _, err := e.compiled(); err != nil {
			panic(err)
		}
		return e
	}
	return &discovery{
		search: made(searchTool, searchAlias, tool.Tool{
			Definition: tool.Definition{
				Description: "Finds tools by what they do. There are more tools than are listed here: search before you say that " +
					"something cannot be done. Each tool that is found comes with its name, its description and the schema of its " +
					"arguments; call it with tools.read if its safety is safe, and with tools.call if not.",
				InputSchema: tool.Schema(fmt.Sprintf(`{"type":"object","properties":{`+
					`"query":{"type":"string","minLength":1,"maxLength":500,"description":"What the tool should do, in a few words, such as: read a file."},`+
					`"limit":{"type":"integer","minimum":1,"maximum":%d,"default":%d,"description":"How many tools to return at most."}},`+
					`"required":["query"],"additionalProperties":false}`, maxFound, usuallyFound)),
				Idempotent: true,
			},
			Handler: h.searchTools,
		}),
		call: made(callTool, callAlias, tool.Tool{
			Definition: tool.Definition{
				Description: "Calls a tool that tools.search has found.",
				InputSchema: calledSchema,
			},
			Handler: func(context.Context, tool.Call) (tool.Result, error) { return tool.Result{}, callsItself() },
		}),
		read: made(readTool, readAlias, tool.Tool{
			Definition: tool.Definition{
				Description: "Calls a tool that tools.search has found and whose safety is safe: it only looks, and changes nothing.",
				InputSchema: calledSchema,
				Idempotent:  true,
			},
			Handler: h.notRead,
		}),
	}
}

var calledSchema = tool.Schema(`{"type":"object","properties":{` +
	`"name":{"type":"string","minLength":1,"description":"The tool's name, as tools.search returns it."},` +
	`"arguments":{"type":"object","description":"The tool's arguments, as its input_schema describes them."}},` +
	`"required":["name"],"additionalProperties":false}`)

func callsItself() error {
	return tool.Errorf(tool.CodeInvalidArguments, "Invalid tool call: it cannot call itself").
		Try("name the tool that you want to call")
}

// notRead is the handler of [readTool], which gets the calls that [Session.meant] has not made calls
// of a safe tool.
func (h *Host) notRead(ctx context.Context, call tool.Call) (tool.Result, error) {
	var asked struct{ Name string }
	if err := json.Unmarshal(call.Arguments, &asked); err != nil {
		return tool.Result{}, err
	}
	e, err := h.find(ctx, asked.Name, visitOf(chain.TraceFrom(ctx)))
	switch {
	case err != nil:
		return tool.Result{}, err
	case reserved[e.def.Name]:
		return tool.Result{}, callsItself()
	}
	return tool.Result{}, tool.Errorf(tool.CodePermissionDenied, "%s calls safe tools only, and %s is %s",
		call.Name, e.def.Name, e.def.Safety.Effective()).Try("call it with " + callTool)
}

const (
	usuallyFound = 5
	maxFound     = 20
	// maxFoundBytes bounds what one search returns, in bytes of descriptions and schemas, from
	// the second tool on.
	maxFoundBytes = 64 << 10
)

// find returns the tool with a reserved name.
func (d *discovery) find(name string) *entry {
	switch name {
	case searchTool, searchAlias:
		return d.search
	case readTool, readAlias:
		return d.read
	}
	return d.call
}

// tools are those that a session lists: [callTool] is as harmful as what it can call.
func (d *discovery) tools(s *Session, f Filter) []Tool {
	var out []Tool
	for _, e := range []*entry{d.call, d.read, d.search} {
		t := e.tool()
		if e == d.call {
			t.Safety = s.worst()
		}
		if f.match(&t.Definition) {
			out = append(out, t)
		}
	}
	return out
}

// worst returns the level of the most harmful tool that the session's caller can call. A cautious one
// that runs programs counts as dangerous, as in the hints that clients are given of it.
func (s *Session) worst() tool.Safety {
	worst := tool.Safe
	for _, e := range s.host.registry.read().listed() {
		level := e.def.Safety.Effective()
		if level == tool.Cautious && e.def.Permission == tool.Exec {
			level = tool.Dangerous
		}
		if level > worst && (e.def.Permission == "" || s.Holds(e.def.Permission)) && s.Sees(e.def) {
			worst = level
		}
		if worst == tool.Dangerous {
			break
		}
	}
	return worst
}

// meant returns the call that a call of [callTool], or of [readTool] for a safe tool, asks for, or
// the call itself, whose arguments are then judged by the schema of its tool.
func (s *Session) meant(call tool.Call) tool.Call {
	reads := call.Name == readTool || call.Name == readAlias
	if !s.searches || !reads && call.Name != callTool && call.Name != callAlias {
		return call
	}
	var asked struct {
		Name      string          `json:"name"`
		Arguments json.RawMessage `json:"arguments"`
	}
	if jsontree.Strict(call.Arguments, &asked) != nil || asked.Name == "" {
		return call
	}
	var text string
	switch args := bytes.TrimSpace(asked.Arguments); {
	case len(args) == 0:
	case string(args) == "null": // as programs write that there are none
		asked.Arguments = nil
	case args[0] == '"' && json.Unmarshal(args, &text) == nil && json.Valid([]byte(text)):
		asked.Arguments = json.RawMessage(text) // some models write the object as a string
	case args[0] != '{':
		return call
	}
	if reads {
		if e := s.host.registry.find(asked.Name); e == nil || e.def.Safety.Effective() != tool.Safe {
			return call
		}
	}
	call.Name, call.Arguments = asked.Name, asked.Arguments
	return call
}

// found is what a search returns of a tool.
type found struct {
	Name        string      `json:"name"`
	Description string      `json:"description"`
	Safety      tool.Safety `json:"safety"`
	InputSchema tool.Schema `json:"input_schema"`
}

// indexOf makes the index of a snapshot's tools.
func indexOf(listed []*entry) *search.Index {
	tools := make([]search.Tool, len(listed))
	for i, e := range listed {
		tools[i] = search.Tool{Definition: e.def, Also: e.override.Also}
	}
	return search.New(tools)
}

// searchTools is the handler of [searchTool]. It finds what the caller may call.
func (h *Host) searchTools(ctx context.Context, call tool.Call) (tool.Result, error) {
	in := struct {
		Query string  `json:"query"`
		Limit float64 `json:"limit"`
	}{Limit: usuallyFound}
	if err := json.Unmarshal(call.Arguments, &in); err != nil {
		return tool.Result{}, err
	}
	t := chain.TraceFrom(ctx)
	by := visitOf(t)
	now := h.registry.read()
	out := struct {
		Tools []found `json:"tools"`
		Note  string  `json:"note,omitempty"`
	}{Tools: []found{}}
	if now.index != nil {
		listed := now.listed()
		chosen := now.index().Find(in.Query, int(in.Limit), func(i int) bool {
			d := listed[i].def
			return !listed[i].isOwn() && (by == nil || by.session.Sees(d) && (d.Permission == "" || t.Caller.Holds(d.Permission)))
		})
		size := 0
		for n, i := range chosen {
			d := listed[i].definition()
			if size += len(d.Description) + len(d.InputSchema); size > maxFoundBytes && n > 0 {
				out.Note = fmt.Sprintf("%d more tools were found, and left out for their size; search for less", len(chosen)-n)
				break
			}
			out.Tools = append(out.Tools, found{d.Name, d.Description, d.Safety.Effective(), d.InputSchema})
		}
	}
	if len(out.Tools) == 0 {
		out.Note = "no tool has these words; search for others, such as what the tool would act on"
	}
	text, err := json.Marshal(out)
	if err != nil {
		return tool.Result{}, err
	}
	return tool.Text(string(text)), nil // once: there is no output schema that asks for structured content
}
