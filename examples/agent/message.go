package main

import (
	"encoding/json"

	"github.com/openai/openai-go/v3"
	"github.com/openai/openai-go/v3/packages/param"

	"github.com/toolhost/toolhost/host/llmschema"
	"github.com/toolhost/toolhost/pluginsdk/tool"
)

// params is an offer as the API is told of it. No tools are nil, as servers refuse
// an empty list.
func params(offer *llmschema.Offer) ([]openai.ChatCompletionToolUnionParam, error) {
	var exported []json.RawMessage
	if err := json.Unmarshal(offer.Tools, &exported); err != nil {
		return nil, err
	}
	var out []openai.ChatCompletionToolUnionParam
	for _, t := range exported {
		out = append(out, param.Override[openai.ChatCompletionToolUnionParam](t))
	}
	return out, nil
}

// calls is what the model wants to run, in the host's words. The name is an
// alias, and the arguments are whatever the model wrote, with the names of the
// tool's own schema: both are the host's to judge.
func calls(said openai.ChatCompletionMessage, offer *llmschema.Offer) []tool.Call {
	out := make([]tool.Call, len(said.ToolCalls))
	for i, c := range said.ToolCalls {
		args := offer.Arguments(c.Function.Name, json.RawMessage(c.Function.Arguments))
		out[i] = tool.Call{ID: c.ID, Name: c.Function.Name, Arguments: args}
	}
	return out
}

// replay is what the model said as it is shown to it in the next turn, members
// included that this client does not know: some servers want their notes back.
//
// Arguments that are not a JSON object are shown as none at all. Several servers
// read them again each time and would refuse the whole conversation from here on;
// what was wrong with them the model reads in the tool's message.
func replay(said openai.ChatCompletionMessage) openai.ChatCompletionMessageParamUnion {
	out := said.ToAssistantMessageParam()
	unknown := map[string]any{}
	for name, field := range said.JSON.ExtraFields {
		unknown[name] = json.RawMessage(field.Raw())
	}
	out.SetExtraFields(unknown)
	for i, c := range said.ToolCalls {
		if isObject(c.Function.Arguments) {
			out.ToolCalls[i] = c.ToParam()
			continue
		}
		out.ToolCalls[i] = openai.ChatCompletionMessageToolCallUnionParam{OfFunction: &openai.ChatCompletionMessageFunctionToolCallParam{
			ID: c.ID, Function: openai.ChatCompletionMessageFunctionToolCallFunctionParam{Name: c.Function.Name, Arguments: "{}"},
		}}
	}
	return openai.ChatCompletionMessageParamUnion{OfAssistant: &out}
}

func isObject(text string) bool {
	var members map[string]json.RawMessage
	return json.Unmarshal([]byte(text), &members) == nil && members != nil
}
