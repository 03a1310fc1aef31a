package wire

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/toolhost/toolhost/pluginsdk/tool"
	pluginv1 "github.com/toolhost/toolhost/proto/toolhost/plugin/v1"
)

func cleanAll(in []string) []string {
	out := make([]string, 0, len(in))
	for _, s := range in {
		out = append(out, clean(s))
	}
	return out
}

func descriptionToProto(about Description) *pluginv1.DescribeResponse {
	out := &pluginv1.DescribeResponse{
		Name: clean(about.Name), Version: clean(about.Version), Sdk: clean(about.SDK),
		ConfigSchemaJson: about.ConfigSchema, Features: cleanAll(about.Features),
	}
	for _, d := range about.Tools {
		out.Tools = append(out.Tools, definitionToProto(d))
	}
	return out
}

func descriptionFromProto(p *pluginv1.DescribeResponse) (Description, error) {
	out := Description{
		Name: p.GetName(), Version: p.GetVersion(), SDK: p.GetSdk(),
		ConfigSchema: p.GetConfigSchemaJson(), Features: p.GetFeatures(),
		Tools: make([]tool.Definition, 0, len(p.GetTools())),
	}
	for _, t := range p.GetTools() {
		d, err := definitionFromProto(t)
		if err != nil {
			return Description{}, err
		}
		out.Tools = append(out.Tools, d)
	}
	return out, nil
}

func definitionToProto(d tool.Definition) *pluginv1.ToolDefinition {
	out := &pluginv1.ToolDefinition{
		Name: clean(d.Name), Title: clean(d.Title), Description: clean(d.Description),
		InputSchemaJson: d.InputSchema, OutputSchemaJson: d.OutputSchema,
		Safety: d.Safety.String(), Categories: cleanAll(d.Categories), Permission: clean(string(d.Permission)),
		Idempotent: d.Idempotent, MaxRetries: saturate(d.MaxRetries),
		TimeoutMs: toMilliseconds(d.Timeout), Sensitive: cleanAll(d.Sensitive),
	}
	if d.RateLimit != nil {
		out.RateLimit = &pluginv1.RateLimit{Calls: saturate(d.RateLimit.Calls), PeriodMs: toMilliseconds(d.RateLimit.Period)}
	}
	return out
}

func saturate(n int) int32 {
	return int32(min(max(n, math.MinInt32), math.MaxInt32)) //nolint:gosec // bounded here
}

// toMilliseconds rounds up: 0 would mean something else.
func toMilliseconds(d tool.Duration) int64 {
	ms := time.Duration(d).Milliseconds()
	if time.Duration(d)%time.Millisecond > 0 {
		ms++
	}
	return ms
}

func definitionFromProto(p *pluginv1.ToolDefinition) (tool.Definition, error) {
	safety, err := tool.ParseSafety(p.GetSafety())
	if err != nil {
		e := tool.AsError(err)
		e.Tool, e.Message = p.GetName(), fmt.Sprintf("tool %.128q: %s", p.GetName(), e.Message)
		return tool.Definition{}, e
	}
	out := tool.Definition{
		Name: p.GetName(), Title: p.GetTitle(), Description: p.GetDescription(),
		InputSchema: p.GetInputSchemaJson(), OutputSchema: p.GetOutputSchemaJson(),
		Safety: safety, Categories: p.GetCategories(), Permission: tool.Capability(p.GetPermission()),
		Idempotent: p.GetIdempotent(), MaxRetries: int(p.GetMaxRetries()),
		Timeout: fromMilliseconds(p.GetTimeoutMs()), Sensitive: p.GetSensitive(),
	}
	if r := p.GetRateLimit(); r != nil {
		out.RateLimit = &tool.RateLimit{Calls: int(r.GetCalls()), Period: fromMilliseconds(r.GetPeriodMs())}
	}
	return out, nil
}

// fromMilliseconds saturates where a duration would overflow.
func fromMilliseconds(ms int64) tool.Duration {
	const most = math.MaxInt64 / int64(time.Millisecond)
	return tool.Duration(time.Duration(min(max(ms, -most), most)) * time.Millisecond)
}

func resultToProto(r tool.Result) *pluginv1.Result {
	out := &pluginv1.Result{StructuredJson: r.Structured, IsError: r.IsError}
	for _, c := range r.Content {
		out.Content = append(out.Content, contentToProto(c))
	}
	return out
}

func contentToProto(c tool.Content) *pluginv1.Content {
	switch c := c.(type) {
	case tool.TextContent:
		return &pluginv1.Content{Block: &pluginv1.Content_Text{Text: &pluginv1.Text{Text: clean(c.Text)}}}
	case tool.ImageContent:
		return &pluginv1.Content{Block: &pluginv1.Content_Image{Image: &pluginv1.Media{Data: c.Data, MimeType: clean(c.MIMEType)}}}
	case tool.AudioContent:
		return &pluginv1.Content{Block: &pluginv1.Content_Audio{Audio: &pluginv1.Media{Data: c.Data, MimeType: clean(c.MIMEType)}}}
	case tool.ResourceContent:
		r := &pluginv1.Resource{Uri: clean(c.URI), MimeType: clean(c.MIMEType)}
		if c.Blob != nil {
			r.Body = &pluginv1.Resource_Blob{Blob: c.Blob}
		} else {
			r.Body = &pluginv1.Resource_Text{Text: clean(c.Text)}
		}
		return &pluginv1.Content{Block: &pluginv1.Content_Resource{Resource: r}}
	case tool.ResourceLink:
		return &pluginv1.Content{Block: &pluginv1.Content_ResourceLink{ResourceLink: &pluginv1.ResourceLink{
			Uri: clean(c.URI), Name: clean(c.Name), Description: clean(c.Description), MimeType: clean(c.MIMEType),
		}}}
	}
	return &pluginv1.Content{}
}

func resultFromProto(p *pluginv1.Result) (tool.Result, error) {
	out := tool.Result{Structured: p.GetStructuredJson(), IsError: p.GetIsError()}
	if len(out.Structured) > 0 {
		if !json.Valid(out.Structured) {
			return tool.Result{}, invalidResult("the structured result is not JSON")
		}
		if !utf8.Valid(out.Structured) { // which json.Valid lets pass within strings
			out.Structured = bytes.ToValidUTF8(out.Structured, []byte("\uFFFD"))
		}
	}
	if n := len(p.GetContent()); n > maxBlocks {
		return tool.Result{}, invalidResult(fmt.Sprintf("%d content blocks, more than %d", n, maxBlocks))
	}
	for i, c := range p.GetContent() {
		block, err := contentFromProto(c)
		if err != nil {
			return tool.Result{}, invalidResult(fmt.Sprintf("content block %d: %v", i, err))
		}
		out.Content = append(out.Content, block)
	}
	return out, nil
}

func contentFromProto(p *pluginv1.Content) (tool.Content, error) {
	switch b := p.GetBlock().(type) {
	case *pluginv1.Content_Text:
		return tool.TextContent{Text: b.Text.GetText()}, nil
	case *pluginv1.Content_Image:
		return tool.ImageContent{Data: b.Image.GetData(), MIMEType: b.Image.GetMimeType()}, nil
	case *pluginv1.Content_Audio:
		return tool.AudioContent{Data: b.Audio.GetData(), MIMEType: b.Audio.GetMimeType()}, nil
	case *pluginv1.Content_Resource:
		out := tool.ResourceContent{URI: b.Resource.GetUri(), MIMEType: b.Resource.GetMimeType(), Text: b.Resource.GetText()}
		if blob, ok := b.Resource.GetBody().(*pluginv1.Resource_Blob); ok {
			out.Blob = blob.Blob
			if out.Blob == nil { // protobuf does not tell an empty blob from none
				out.Blob = []byte{}
			}
		}
		return out, nil
	case *pluginv1.Content_ResourceLink:
		l := b.ResourceLink
		return tool.ResourceLink{URI: l.GetUri(), Name: l.GetName(), Description: l.GetDescription(), MIMEType: l.GetMimeType()}, nil
	}
	return nil, errors.New("unknown kind")
}

func invalidResult(msg string) *tool.Error {
	return &tool.Error{
		Code: tool.CodeInvalidResult, Stage: tool.StageExecute, Message: "the plugin's answer is malformed: " + msg,
		Hint: "report this to the plugin's author",
	}
}

// errorToProto sends what another process can use: Detail stays behind, as it
// may hold a stack, and Unsent is the host's to say.
func errorToProto(err error) *pluginv1.Error {
	e := tool.AsError(err)
	msg := err.Error() // more than e.Message where something stands around e
	if e.Hint != "" {
		msg = strings.TrimSuffix(msg, " ("+e.Hint+")")
	}
	return &pluginv1.Error{Code: clean(string(e.Code)), Message: clean(msg), Hint: clean(e.Hint)}
}

// ErrClaimed is the cause of an error that the plugin answered with. Those with
// another cause, or none, the host has found itself.
var ErrClaimed = errors.New("the plugin's own word")

// knownCodes are the codes that a plugin may use. The others are the host's own
// findings, and a plugin that used them could pass for the host.
var knownCodes = map[tool.Code]bool{
	tool.CodeInvalidArguments: true, tool.CodePermissionDenied: true, tool.CodeRateLimited: true,
	tool.CodeUnavailable: true, tool.CodeDeadlineExceeded: true, tool.CodeCanceled: true,
	tool.CodeResourceExhausted: true, tool.CodeNotFound: true, tool.CodeAlreadyExists: true,
	tool.CodeInvalidResult: true, tool.CodeToolFailed: true, tool.CodeInternal: true,
}

func errorFromProto(p *pluginv1.Error) *tool.Error {
	code := tool.Code(p.GetCode())
	if !knownCodes[code] {
		code = tool.CodeToolFailed
	}
	message := p.GetMessage()
	if message == "" {
		message = string(code)
	}
	return &tool.Error{Code: code, Stage: tool.StageExecute, Message: message, Hint: p.GetHint(), Err: ErrClaimed}
}
